-- Rows whose other half is missing, among the `limit` oldest of each table: what prune has left behind, if anything has.
SELECT found.kind, found.job_id
FROM (
    SELECT 'payload' AS kind, oldest.job_id
    FROM (SELECT job_id FROM conveyor_payload ORDER BY job_id LIMIT %(limit)s::integer) AS oldest
    UNION ALL
    SELECT 'attempt', oldest.job_id
    FROM (SELECT job_id FROM conveyor_attempt ORDER BY job_id, lease_version LIMIT %(limit)s::integer) AS oldest
    UNION ALL
    SELECT 'ledger', oldest.job_id
    FROM (SELECT job_id FROM conveyor_ledger ORDER BY job_id, step LIMIT %(limit)s::integer) AS oldest
    UNION ALL
    SELECT 'edge', oldest.job_id
    FROM (SELECT job_id FROM conveyor_dependency ORDER BY job_id, needs_id LIMIT %(limit)s::integer) AS oldest
) AS found
-- A value, not an anti-join, which could walk the table of jobs.
WHERE coalesce((SELECT false FROM conveyor_job AS job WHERE job.id = found.job_id), true)
UNION ALL
SELECT 'job', oldest.id
FROM (SELECT id FROM conveyor_job ORDER BY id LIMIT %(limit)s::integer) AS oldest
WHERE coalesce((SELECT false FROM conveyor_payload AS payload WHERE payload.job_id = oldest.id), true)
