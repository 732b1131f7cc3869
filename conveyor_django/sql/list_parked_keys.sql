-- The next keys after a given one that have parked jobs: one index probe per key ("loose index scan", PostgreSQL wiki),
-- not a scan.
WITH RECURSIVE found (queue, key, place) AS (
    (SELECT queue, concurrency_key, 1
     FROM conveyor_job
     WHERE state = 'ready' AND parked = 'key'
       AND (queue, concurrency_key) > (%(after_queue)s::text, %(after_key)s::text)
     ORDER BY queue, concurrency_key
     LIMIT 1)
    UNION ALL
    SELECT next.queue, next.concurrency_key, found.place + 1
    FROM found
    CROSS JOIN LATERAL (
        SELECT job.queue, job.concurrency_key
        FROM conveyor_job AS job
        WHERE job.state = 'ready' AND job.parked = 'key'
          AND (job.queue, job.concurrency_key) > (found.queue, found.key)
        ORDER BY job.queue, job.concurrency_key
        LIMIT 1
    ) AS next
    WHERE found.place < %(limit)s::integer
)
SELECT queue, key FROM found
