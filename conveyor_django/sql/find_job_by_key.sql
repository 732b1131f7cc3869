-- The job that holds a key, with what it was enqueued with.
SELECT job.id, job.task, payload.args::text, payload.kwargs::text
FROM conveyor_job AS job
JOIN conveyor_payload AS payload ON payload.job_id = job.id
WHERE job.queue = %(queue)s::text AND job.idempotency_key = %(idempotency_key)s::text
