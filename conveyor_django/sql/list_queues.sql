-- The queues that have ready jobs in line: one index probe per queue ("loose index scan", PostgreSQL wiki), not a scan.
WITH RECURSIVE found (queue) AS (
    (SELECT queue FROM conveyor_job WHERE state = 'ready' AND parked IS NULL ORDER BY queue LIMIT 1)
    UNION ALL
    SELECT (SELECT job.queue FROM conveyor_job AS job
            WHERE job.state = 'ready' AND job.parked IS NULL AND job.queue > found.queue
            ORDER BY job.queue LIMIT 1)
    FROM found
    WHERE found.queue IS NOT NULL
)
SELECT queue FROM found WHERE queue IS NOT NULL
