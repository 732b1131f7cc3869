-- The keys that have parked jobs: one index probe per key ("loose index scan", PostgreSQL wiki), not a scan.
WITH RECURSIVE found (queue, key) AS (
    (SELECT queue, concurrency_key FROM conveyor_job WHERE state = 'ready' AND parked = 'key'
     ORDER BY queue, concurrency_key LIMIT 1)
    UNION ALL
    SELECT next.queue, next.concurrency_key
    FROM found
    CROSS JOIN LATERAL (
        SELECT job.queue, job.concurrency_key
        FROM conveyor_job AS job
        WHERE job.state = 'ready' AND job.parked = 'key'
          AND (job.queue, job.concurrency_key) > (found.queue, found.key)
        ORDER BY job.queue, job.concurrency_key
        LIMIT 1
    ) AS next
)
SELECT queue, key FROM found
