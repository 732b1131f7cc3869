-- The jobs that hold keys, each with where it is in its life and with what it was enqueued with.
SELECT given.queue, given.key, job.id, job.task, payload.args, payload.kwargs, job.state, job.workflow_id
FROM unnest(%(queues)s::text[], %(keys)s::text[]) AS given (queue, key)
-- LIMIT keeps these probes, whatever the statistics say.
CROSS JOIN LATERAL (
    SELECT held.id, held.task, held.state, held.workflow_id
    FROM conveyor_job AS held
    WHERE held.queue = given.queue AND held.idempotency_key = given.key
    LIMIT 1
) AS job
CROSS JOIN LATERAL (
    SELECT args::text, kwargs::text FROM conveyor_payload WHERE job_id = job.id LIMIT 1
) AS payload
