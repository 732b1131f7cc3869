-- Lease up to `limit` ready jobs to `owner`: queues in the order of the array, by priority and age in each.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
claimed AS (
    UPDATE conveyor_job AS job
    SET state = 'running',
        attempt = job.attempt + 1,
        lease_owner = %(owner)s::uuid,
        lease_version = job.lease_version + 1,
        lease_expires_at = (SELECT now FROM clock) + make_interval(
            secs => (%(leases)s::float8[])[array_position(%(queues)s::text[], job.queue)]),
        started_at = coalesce(job.started_at, (SELECT now FROM clock)),
        claimed_at = (SELECT now FROM clock)
    -- The guard stands in the locking select below (rule 1). An array, not a join: a join let the planner
    -- walk the whole table.
    WHERE job.id = ANY (ARRAY(
        SELECT picked.id
        FROM unnest(%(queues)s::text[]) AS turn (queue)
        -- One index range per queue: `queue = ANY (...)` would sort the whole backlog.
        CROSS JOIN LATERAL (
            SELECT candidate.id
            FROM conveyor_job AS candidate
            WHERE candidate.queue = turn.queue AND candidate.state = 'ready'
              AND NOT coalesce((SELECT paused FROM conveyor_queue WHERE name = turn.queue), false)
            ORDER BY candidate.priority DESC, candidate.ready_seq
            LIMIT %(limit)s::integer
            FOR NO KEY UPDATE OF candidate SKIP LOCKED
        ) AS picked
        LIMIT %(limit)s::integer
    ))
    RETURNING job.id, job.lease_version, job.queue, job.task, job.attempt, job.max_attempts, job.lost_count,
        job.release_count, job.created_at, job.priority, job.ready_seq
)
SELECT claimed.id, claimed.lease_version, claimed.queue, claimed.task, payload.args, payload.kwargs,
       claimed.attempt, claimed.max_attempts, claimed.lost_count, claimed.release_count,
       (%(leases)s::float8[])[array_position(%(queues)s::text[], claimed.queue)], claimed.created_at
FROM claimed
-- LIMIT keeps this a probe per job; without it, a plan made on an empty table walks the whole index for ever.
LEFT JOIN LATERAL (
    SELECT args::text, kwargs::text FROM conveyor_payload WHERE job_id = claimed.id LIMIT 1
) AS payload ON true
ORDER BY claimed.priority DESC, claimed.ready_seq
