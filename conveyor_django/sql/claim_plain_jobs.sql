-- Lease up to `limit` ready jobs to `owner`, as claim_jobs does, where no cap, key or paused task has a say: the
-- everyday claim, at two thirds of the work. What else it meets it leaves in line, and says `capped`: ask claim_jobs.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
seen AS MATERIALIZED (
    SELECT picked.id,
           turn.capped OR picked.concurrency_key IS NOT NULL
               OR picked.task = ANY (ARRAY(SELECT task FROM conveyor_pausedtask)) AS capped
    FROM (
        SELECT input.queue, coalesce(settings.capped, false) AS capped, coalesce(settings.paused, false) AS paused
        FROM unnest(%(queues)s::text[]) AS input (queue)
        LEFT JOIN LATERAL (
            SELECT paused, soft_cap IS NOT NULL OR exact_cap IS NOT NULL AS capped
            FROM conveyor_queue WHERE name = input.queue
            LIMIT 1
        ) AS settings ON true
    ) AS turn
    -- One index range per queue: `queue = ANY (...)` would sort the whole backlog.
    CROSS JOIN LATERAL (
        SELECT candidate.id, candidate.task, candidate.concurrency_key
        FROM conveyor_job AS candidate
        WHERE candidate.queue = turn.queue AND candidate.state = 'ready' AND candidate.parked IS NULL
        ORDER BY candidate.priority DESC, candidate.ready_seq
        -- Of a queue with a cap one job is enough to know.
        LIMIT CASE WHEN turn.paused THEN 0 WHEN turn.capped THEN 1 ELSE %(limit)s::integer END
        FOR NO KEY UPDATE OF candidate SKIP LOCKED
    ) AS picked
    LIMIT %(limit)s::integer
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
    -- The guard stands in the locking select above (rule 1). An array, not a join: a join let the planner
    -- walk the whole table.
    WHERE job.id = ANY (ARRAY(SELECT seen.id FROM seen WHERE NOT seen.capped))
    RETURNING job.id, job.lease_version, job.queue, job.task, job.attempt, job.max_attempts, job.lost_count,
        job.release_count, job.created_at, job.priority, job.ready_seq, job.workflow_id,
        date_part('epoch', job.claimed_at - greatest(job.run_at, job.created_at)) AS waited
)
SELECT 'claimed' AS kind, claimed.id, claimed.lease_version, claimed.queue, claimed.task, payload.args, payload.kwargs,
       claimed.attempt, claimed.max_attempts, claimed.lost_count, claimed.release_count,
       (%(leases)s::float8[])[array_position(%(queues)s::text[], claimed.queue)] AS lease, claimed.created_at,
       NULL::text AS concurrency_key, claimed.workflow_id, claimed.waited, payload.traceparent, payload.tracestate,
       NULL::integer AS cap, claimed.priority, claimed.ready_seq
FROM claimed
-- LIMIT keeps this a probe per job; without it, a plan made on an empty table walks the whole index for ever.
LEFT JOIN LATERAL (
    SELECT args::text, kwargs::text, traceparent, tracestate FROM conveyor_payload WHERE job_id = claimed.id LIMIT 1
) AS payload ON true
UNION ALL
SELECT 'capped', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, NULL
WHERE EXISTS (SELECT FROM seen WHERE seen.capped)
ORDER BY priority DESC NULLS LAST, ready_seq
