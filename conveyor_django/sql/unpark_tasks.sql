-- Put jobs back in line whose task is not paused any more.
WITH chosen AS MATERIALIZED (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE job.state = 'ready' AND job.parked = 'task'
      AND job.task <> ALL (ARRAY(SELECT task FROM conveyor_pausedtask))
    LIMIT %(limit)s::integer
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE conveyor_job AS job
SET parked = NULL
WHERE job.id = ANY (ARRAY(SELECT chosen.id FROM chosen))
RETURNING job.id, job.queue
