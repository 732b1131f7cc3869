-- The job that holds a key, with what it was enqueued with.
SELECT job.id, job.task, payload.args, payload.kwargs
FROM conveyor_job AS job
-- LIMIT keeps this a probe, whatever the statistics say.
CROSS JOIN LATERAL (
    SELECT args::text, kwargs::text FROM conveyor_payload WHERE job_id = job.id LIMIT 1
) AS payload
WHERE job.queue = %(queue)s::text AND job.idempotency_key = %(idempotency_key)s::text
