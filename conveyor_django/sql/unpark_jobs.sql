-- Put the next jobs of each key back in line, as many as have a free permit now; their order is what it was.
-- One too many is no harm: the claim parks it again.
WITH given AS MATERIALIZED (
    SELECT DISTINCT input.queue, input.key,
           coalesce((SELECT key_cap FROM conveyor_queue WHERE name = input.queue), 1) AS cap
    FROM unnest(%(queues)s::text[], %(keys)s::text[]) AS input (queue, key)
),
chosen AS MATERIALIZED (
    SELECT job.id
    FROM given
    CROSS JOIN LATERAL (
        SELECT count(*) AS held
        FROM conveyor_permit AS permit
        WHERE permit.queue = given.queue AND permit.key = given.key
          AND EXISTS (
              SELECT FROM conveyor_job AS holder
              WHERE holder.id = permit.job_id AND holder.state || '' = 'running'
                AND holder.lease_version = permit.lease_version)
    ) AS permits
    CROSS JOIN LATERAL (
        SELECT waiting.id
        FROM conveyor_job AS waiting
        WHERE waiting.queue = given.queue AND waiting.concurrency_key = given.key
          AND waiting.state = 'ready' AND waiting.parked = 'key'
        ORDER BY waiting.priority DESC, waiting.ready_seq
        LIMIT greatest(0, given.cap - permits.held)
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS job
)
UPDATE conveyor_job AS job
SET parked = NULL
WHERE job.id = ANY (ARRAY(SELECT chosen.id FROM chosen))
RETURNING job.id, job.queue
