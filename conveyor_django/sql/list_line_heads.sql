-- The first job in line of each queue and priority: one index probe for each ("loose index scan", PostgreSQL wiki).
WITH RECURSIVE found (queue, priority, id, run_at, task, place) AS (
    (SELECT job.queue, job.priority, job.id, job.run_at, job.task, 1
     FROM conveyor_job AS job
     WHERE job.state = 'ready' AND job.parked IS NULL
     ORDER BY job.queue, job.priority DESC, job.ready_seq
     LIMIT 1)
    UNION ALL
    SELECT next.queue, next.priority, next.id, next.run_at, next.task, found.place + 1
    FROM found
    CROSS JOIN LATERAL (
        SELECT step.*
        FROM (
            -- The next lower priority of the queue, or else the head of the next queue.
            (SELECT 1 AS turn, job.queue, job.priority, job.id, job.run_at, job.task
             FROM conveyor_job AS job
             WHERE job.queue = found.queue AND job.priority < found.priority
               AND job.state = 'ready' AND job.parked IS NULL
             ORDER BY job.priority DESC, job.ready_seq
             LIMIT 1)
            UNION ALL
            (SELECT 2, job.queue, job.priority, job.id, job.run_at, job.task
             FROM conveyor_job AS job
             WHERE job.queue > found.queue AND job.state = 'ready' AND job.parked IS NULL
             ORDER BY job.queue, job.priority DESC, job.ready_seq
             LIMIT 1)
        ) AS step
        ORDER BY step.turn
        LIMIT 1
    ) AS next
    WHERE found.place < %(limit)s::integer
)
SELECT queue, priority, id, task,
       extract(epoch FROM coalesce(%(now)s::timestamptz, statement_timestamp()) - run_at)::float8 AS waited
FROM found
