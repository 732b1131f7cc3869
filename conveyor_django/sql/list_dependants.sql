-- The queues in which dependants of these jobs are ready; and whether some edge to them is still to be resolved.
SELECT DISTINCT CASE WHEN edge.resolved THEN job.queue END AS queue, NOT edge.resolved AS late
FROM unnest(%(parents)s::bigint[]) AS given (id)
-- OFFSET and LIMIT keep these probes, whatever the statistics say.
CROSS JOIN LATERAL (
    SELECT needing.job_id, needing.resolved FROM conveyor_dependency AS needing WHERE needing.needs_id = given.id OFFSET 0
) AS edge
CROSS JOIN LATERAL (
    SELECT dependant.queue, dependant.state FROM conveyor_job AS dependant WHERE dependant.id = edge.job_id LIMIT 1
) AS job
WHERE job.state = 'ready' OR NOT edge.resolved
