-- What a job needs: how each of these ended, with its result or the error of its last run.
SELECT edge.needs_id, payload.name, job.state, edge.on_failure, success.result, attempt.error_class, attempt.message
FROM conveyor_dependency AS edge
-- LIMIT keeps each of these a probe, whatever the statistics say.
LEFT JOIN LATERAL (SELECT state FROM conveyor_job WHERE id = edge.needs_id LIMIT 1) AS job ON true
LEFT JOIN LATERAL (SELECT name FROM conveyor_payload WHERE job_id = edge.needs_id LIMIT 1) AS payload ON true
LEFT JOIN LATERAL (
    SELECT ledger.result::text AS result
    FROM conveyor_ledger AS ledger
    WHERE ledger.job_id = edge.needs_id AND ledger.step = ''
    LIMIT 1
) AS success ON true
LEFT JOIN LATERAL (
    SELECT run.error_class, run.message
    FROM conveyor_attempt AS run
    WHERE job.state IN ('failed', 'cancelled') AND run.job_id = edge.needs_id
    ORDER BY run.lease_version DESC
    LIMIT 1
) AS attempt ON true
WHERE edge.job_id = %(id)s::bigint
ORDER BY edge.needs_id
