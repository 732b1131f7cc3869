-- The queues that have ready jobs in line: how many each, counted up to its part of `limit`, and since when the one has
-- been ready that has been so longest. One probe of the index finds the head of each queue and priority ("loose index
-- scan", PostgreSQL wiki).
WITH RECURSIVE heads (queue, priority, id) AS (
    (SELECT job.queue, job.priority, job.id
     FROM conveyor_job AS job
     WHERE job.state = 'ready' AND job.parked IS NULL
     ORDER BY job.queue, job.priority DESC, job.ready_seq
     LIMIT 1)
    UNION ALL
    SELECT next.queue, next.priority, next.id
    FROM heads
    CROSS JOIN LATERAL (
        SELECT found.queue, found.priority, found.id
        FROM (
            (SELECT 1 AS turn, job.queue, job.priority, job.id
             FROM conveyor_job AS job
             WHERE job.state = 'ready' AND job.parked IS NULL
               AND job.queue = heads.queue AND job.priority < heads.priority
             ORDER BY job.priority DESC, job.ready_seq
             LIMIT 1)
            UNION ALL
            (SELECT 2, job.queue, job.priority, job.id
             FROM conveyor_job AS job
             WHERE job.state = 'ready' AND job.parked IS NULL AND job.queue > heads.queue
             ORDER BY job.queue, job.priority DESC, job.ready_seq
             LIMIT 1)
        ) AS found
        ORDER BY found.turn
        LIMIT 1
    ) AS next
),
-- No column says when a job became ready. It was due by then, and what made it so has left its time.
waits AS MATERIALIZED (
    SELECT heads.queue, min(ready.since) AS since
    FROM heads
    CROSS JOIN LATERAL (
        SELECT greatest(
            job.run_at,
            -- retried, given back, rescued
            (SELECT attempt.finished_at FROM conveyor_attempt AS attempt
             WHERE attempt.job_id = job.id ORDER BY attempt.lease_version DESC LIMIT 1),
            -- released by the last job that it needed; of thousands, a part is enough to look at
            (SELECT max(parent.finished_at)
             FROM (SELECT edge.needs_id FROM conveyor_dependency AS edge
                   WHERE edge.job_id = job.id ORDER BY edge.needs_id DESC LIMIT 100) AS edge
             CROSS JOIN LATERAL (
                 SELECT needed.finished_at FROM conveyor_job AS needed
                 WHERE needed.id = edge.needs_id LIMIT 1) AS parent),
            -- a callback
            CASE WHEN job.workflow_role IS NOT NULL THEN
                (SELECT workflow.finished_at FROM conveyor_workflow AS workflow
                 WHERE workflow.id = job.workflow_id) END
        ) AS since
        FROM conveyor_job AS job
        WHERE job.id = heads.id
        LIMIT 1
    ) AS ready
    GROUP BY heads.queue
)
SELECT waits.queue, counted.jobs, counted.jobs = share.jobs AS cut_off, waits.since
FROM waits
CROSS JOIN (SELECT greatest(100, %(limit)s::integer / greatest(1, count(*))) AS jobs FROM waits) AS share
CROSS JOIN LATERAL (
    SELECT count(*) AS jobs
    FROM (SELECT FROM conveyor_job AS job
          WHERE job.state = 'ready' AND job.parked IS NULL AND job.queue = waits.queue
          ORDER BY job.priority DESC, job.ready_seq
          LIMIT share.jobs) AS line
) AS counted
ORDER BY waits.queue
