-- Blocked jobs that nothing will release, each with the reason. Where there is none, none waits for ever: a blocked job
-- has an open edge to an older one that has not ended, and of these the oldest is not blocked itself.
SELECT blocked.id, blocked.queue, blocked.task, blocked.workflow_id, blocked.reason
FROM (
    SELECT job.id, job.queue, job.task, job.workflow_id,
           CASE
               WHEN job.workflow_role IS NOT NULL THEN
                   CASE WHEN workflow.unfinished IS NULL THEN 'it is a callback, and its workflow does not exist'
                        WHEN NOT workflow.unfinished THEN 'it is a callback, and its workflow is finished'
                        WHEN NOT workflow.goes_on THEN 'it is a callback, and every job of its workflow has ended' END
               WHEN job.pending_dependencies <> edges.unresolved THEN
                   format('it counts %%s jobs to wait for, and has %%s unresolved edges',
                          job.pending_dependencies, edges.unresolved)
               WHEN edges.open = 0 THEN 'every job that it waits for has ended or is gone'
           END AS reason
    FROM conveyor_job AS job
    CROSS JOIN LATERAL (
        SELECT count(*) AS unresolved,
               count(*) FILTER (WHERE EXISTS (
                   SELECT FROM conveyor_job AS parent
                   WHERE parent.id = edge.needs_id
                     AND parent.state || '' IN ('blocked', 'scheduled', 'ready', 'running'))) AS open
        FROM conveyor_dependency AS edge
        WHERE edge.job_id = job.id AND NOT edge.resolved
    ) AS edges
    LEFT JOIN LATERAL (
        SELECT known.finished_at IS NULL AS unfinished,
               EXISTS (
                   SELECT FROM conveyor_job AS other
                   WHERE other.workflow_id = known.id AND other.workflow_role IS NULL
                     AND other.state IN ('blocked', 'ready', 'running', 'scheduled')) AS goes_on
        FROM conveyor_workflow AS known
        WHERE known.id = job.workflow_id
        LIMIT 1
    ) AS workflow ON true
    WHERE job.state = 'blocked'
) AS blocked
WHERE blocked.reason IS NOT NULL
ORDER BY blocked.id
LIMIT %(limit)s::integer
