-- Put the next jobs of each key back in line, as many as have a free permit and nobody in line for it; their order is
-- what it was. One too many is no harm: the claim parks it again.
WITH permits AS MATERIALIZED (
    SELECT input.queue, input.key,
           coalesce((SELECT key_cap FROM conveyor_queue WHERE name = input.queue), 1) - (
               SELECT count(run.id)
               FROM conveyor_permit AS permit
               -- LIMIT keeps this a probe per permit; without it, a plan made on an empty table walks a whole index.
               LEFT JOIN LATERAL (
                   SELECT job.id
                   FROM conveyor_job AS job
                   WHERE job.id = permit.job_id AND job.state || '' = 'running'
                     AND job.lease_version = permit.lease_version
                   LIMIT 1
               ) AS run ON true
               WHERE permit.queue = input.queue AND permit.key = input.key) AS free
    FROM (
        SELECT DISTINCT queue, key FROM unnest(%(queues)s::text[], %(keys)s::text[]) AS listed (queue, key)
    ) AS input
),
given AS MATERIALIZED (
    SELECT permits.queue, permits.key, permits.free - line.jobs AS free
    FROM permits
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs
        FROM (
            SELECT FROM conveyor_job AS job
            WHERE job.queue = permits.queue AND job.concurrency_key = permits.key
              AND job.state = 'ready' AND job.parked IS NULL
            LIMIT greatest(0, permits.free)
        ) AS next
    ) AS line
),
chosen AS MATERIALIZED (
    SELECT job.id
    FROM given
    CROSS JOIN LATERAL (
        SELECT waiting.id
        FROM (
            SELECT parked.id, parked.task
            FROM conveyor_job AS parked
            WHERE parked.queue = given.queue AND parked.concurrency_key = given.key
              AND parked.state = 'ready' AND parked.parked = 'key'
            ORDER BY parked.priority DESC, parked.ready_seq
            -- A bound on the walk past jobs that are locked, or whose task is paused.
            LIMIT CASE WHEN given.free > 0 THEN given.free + %(park)s::integer ELSE 0 END
        ) AS next
        CROSS JOIN LATERAL (
            SELECT job.id
            FROM conveyor_job AS job
            WHERE job.id = next.id AND job.state || '' = 'ready' AND job.parked || '' = 'key'
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS waiting
        WHERE next.task <> ALL (ARRAY(SELECT task FROM conveyor_pausedtask))
        LIMIT greatest(0, given.free)
    ) AS job
),
-- Those whose task was paused since they were parked step aside, lest each look walks past them again.
aside AS MATERIALIZED (
    SELECT waiting.id
    FROM given
    CROSS JOIN LATERAL (
        SELECT parked.id, parked.task
        FROM conveyor_job AS parked
        WHERE parked.queue = given.queue AND parked.concurrency_key = given.key
          AND parked.state = 'ready' AND parked.parked = 'key'
        ORDER BY parked.priority DESC, parked.ready_seq
        LIMIT CASE WHEN given.free > 0 AND EXISTS (SELECT FROM conveyor_pausedtask)
                   THEN given.free + %(park)s::integer ELSE 0 END
    ) AS next
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM conveyor_job AS job
        WHERE job.id = next.id AND job.state || '' = 'ready' AND job.parked || '' = 'key'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS waiting
    WHERE next.task = ANY (ARRAY(SELECT task FROM conveyor_pausedtask))
),
moved AS (
    UPDATE conveyor_job AS job
    SET parked = CASE WHEN job.id = ANY (ARRAY(SELECT aside.id FROM aside)) THEN 'task' END
    WHERE job.id = ANY (ARRAY(SELECT chosen.id FROM chosen UNION ALL SELECT aside.id FROM aside))
    RETURNING job.id, job.queue, job.parked
)
SELECT id, queue FROM moved WHERE parked IS NULL
