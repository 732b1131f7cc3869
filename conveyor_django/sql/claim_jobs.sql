-- Lease up to `limit` ready jobs to `owner`: queues in the order of the array, by priority and age in each. Where a
-- cap is in force a job also takes its permits, or is parked; `kind` says what each row of the answer is.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- What each queue's settings leave room for, counted without a lock: enough for a soft cap.
turn AS MATERIALIZED (
    SELECT input.queue, input.lease, settings.exact_cap, coalesce(settings.key_cap, 1) AS key_cap,
           CASE WHEN settings.paused THEN 0 ELSE greatest(0, least(
               %(limit)s::integer,
               CASE WHEN settings.soft_cap IS NOT NULL THEN settings.soft_cap - (
                   SELECT count(*) FROM conveyor_job AS running
                   WHERE running.state = 'running' AND running.queue = input.queue) END,
               CASE WHEN settings.exact_cap IS NOT NULL THEN settings.exact_cap - (
                   SELECT count(*) FROM conveyor_permit AS permit
                   WHERE permit.queue = input.queue AND permit.key = '' AND EXISTS (
                       SELECT FROM conveyor_job AS holder
                       WHERE holder.id = permit.job_id AND holder.state || '' = 'running'
                         AND holder.lease_version = permit.lease_version)) END
           )) END AS room
    FROM unnest(%(queues)s::text[], %(leases)s::float8[]) AS input (queue, lease)
    LEFT JOIN LATERAL (
        SELECT paused, soft_cap, exact_cap, key_cap FROM conveyor_queue WHERE name = input.queue LIMIT 1
    ) AS settings ON true
),
seen AS MATERIALIZED (
    SELECT turn.queue, turn.lease, turn.exact_cap, turn.key_cap, picked.*,
           picked.task = ANY (ARRAY(SELECT task FROM conveyor_pausedtask)) AS paused
    FROM turn
    -- One index range per queue: `queue = ANY (...)` would sort the whole backlog.
    CROSS JOIN LATERAL (
        SELECT candidate.id, candidate.lease_version, candidate.task, candidate.concurrency_key, candidate.priority,
               candidate.ready_seq
        FROM conveyor_job AS candidate
        WHERE candidate.queue = turn.queue AND candidate.state = 'ready' AND candidate.parked IS NULL
        ORDER BY candidate.priority DESC, candidate.ready_seq
        LIMIT turn.room
        FOR NO KEY UPDATE OF candidate SKIP LOCKED
    ) AS picked
    LIMIT %(limit)s::integer
),
-- How many permits of which caps the candidates would take; a queue's own cap has the key ''.
demand AS MATERIALIZED (
    SELECT queue, '' AS key, exact_cap AS cap, count(*) AS jobs
    FROM seen
    WHERE exact_cap IS NOT NULL AND NOT paused
    GROUP BY queue, exact_cap
    UNION ALL
    SELECT queue, concurrency_key, key_cap, count(*)
    FROM seen
    WHERE concurrency_key IS NOT NULL AND NOT paused
    GROUP BY queue, concurrency_key, key_cap
),
supply AS MATERIALIZED (
    SELECT demand.queue, demand.key, demand.cap, known.places, least(demand.jobs, demand.cap - known.beyond) AS jobs
    FROM demand
    CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE permit.number <= demand.cap) AS places,
               -- A cap that was lowered: what still runs beyond it counts.
               count(*) FILTER (WHERE permit.number > demand.cap AND EXISTS (
                   SELECT FROM conveyor_job AS holder
                   WHERE holder.id = permit.job_id AND holder.state || '' = 'running'
                     AND holder.lease_version = permit.lease_version)) AS beyond
        FROM conveyor_permit AS permit
        WHERE permit.queue = demand.queue AND permit.key = demand.key
    ) AS known
),
-- Free is a permit whose run is over. A run that was over in this snapshot stays so; a permit that another claim has
-- taken since then names another run by now, which the comparison sees when the lock has it read anew (rule 1).
permit AS MATERIALIZED (
    SELECT supply.queue, supply.key, free.id,
           row_number() OVER (PARTITION BY supply.queue, supply.key) AS nth
    FROM supply
    CROSS JOIN LATERAL (
        SELECT place.id
        FROM conveyor_permit AS known
        JOIN conveyor_permit AS place
          ON place.id = known.id AND place.job_id = known.job_id AND place.lease_version = known.lease_version
        WHERE known.queue = supply.queue AND known.key = supply.key AND known.number <= supply.cap
          AND NOT EXISTS (
              SELECT FROM conveyor_job AS holder
              WHERE holder.id = known.job_id AND holder.state || '' = 'running'
                AND holder.lease_version = known.lease_version)
        LIMIT greatest(0, supply.jobs)
        FOR NO KEY UPDATE OF place SKIP LOCKED
    ) AS free
),
keyed AS MATERIALIZED (
    SELECT candidate.*,
           (SELECT permit.id FROM permit
            WHERE permit.queue = candidate.queue AND permit.key = candidate.concurrency_key
              AND permit.nth = candidate.nth) AS key_permit
    FROM (
        SELECT seen.*, row_number() OVER (
                   PARTITION BY queue, concurrency_key ORDER BY priority DESC, ready_seq) AS nth
        FROM seen
        WHERE NOT paused
    ) AS candidate
),
granted AS MATERIALIZED (
    SELECT candidate.*,
           (SELECT permit.id FROM permit
            WHERE permit.queue = candidate.queue AND permit.key = '' AND permit.nth = candidate.place) AS queue_permit
    FROM (
        SELECT keyed.*, row_number() OVER (PARTITION BY queue ORDER BY priority DESC, ready_seq) AS place
        FROM keyed
        WHERE concurrency_key IS NULL OR key_permit IS NOT NULL
    ) AS candidate
),
leased AS MATERIALIZED (
    SELECT * FROM granted WHERE exact_cap IS NULL OR queue_permit IS NOT NULL
),
taken AS MATERIALIZED (
    SELECT key_permit AS permit, id, lease_version + 1 AS version FROM leased WHERE key_permit IS NOT NULL
    UNION ALL
    SELECT queue_permit, id, lease_version + 1 FROM leased WHERE queue_permit IS NOT NULL
),
took AS (
    UPDATE conveyor_permit AS permit
    SET (job_id, lease_version, taken_at) = (
        SELECT taken.id, taken.version, clock.now FROM taken CROSS JOIN clock WHERE taken.permit = permit.id)
    WHERE permit.id = ANY (ARRAY(SELECT taken.permit FROM taken))
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
    WHERE job.id = ANY (ARRAY(SELECT leased.id FROM leased))
    RETURNING job.id, job.lease_version, job.queue, job.task, job.attempt, job.max_attempts, job.lost_count,
        job.release_count, job.created_at, job.priority, job.ready_seq, job.concurrency_key, job.workflow_id
),
-- Caps whose places were never made, or too few: the caller makes them, and claims again.
unprovided AS MATERIALIZED (
    SELECT queue, key, cap FROM supply WHERE places < cap
),
-- What nothing may claim now: of a paused task, or of a key without a free permit.
refused AS MATERIALIZED (
    SELECT queue, task, NULL AS key FROM seen WHERE paused
    UNION
    SELECT keyed.queue, NULL, keyed.concurrency_key
    FROM keyed
    WHERE keyed.concurrency_key IS NOT NULL AND keyed.key_permit IS NULL
      AND NOT EXISTS (
          SELECT FROM unprovided
          WHERE unprovided.queue = keyed.queue AND unprovided.key = keyed.concurrency_key)
),
-- Such jobs are moved out of the way, with those right behind them: the next claims do not meet them again.
behind AS MATERIALIZED (
    SELECT picked.id, refused.task IS NOT NULL AS paused
    FROM (SELECT DISTINCT queue FROM refused) AS turn
    CROSS JOIN LATERAL (
        SELECT candidate.id, candidate.task, candidate.concurrency_key
        FROM conveyor_job AS candidate
        WHERE candidate.queue = turn.queue AND candidate.state = 'ready' AND candidate.parked IS NULL
        ORDER BY candidate.priority DESC, candidate.ready_seq
        LIMIT %(limit)s::integer + %(park)s::integer
        FOR NO KEY UPDATE OF candidate SKIP LOCKED
    ) AS picked
    JOIN refused ON refused.queue = turn.queue
                AND (refused.task = picked.task OR refused.key = picked.concurrency_key)
    WHERE NOT EXISTS (SELECT FROM leased WHERE leased.id = picked.id)
),
parked AS (
    UPDATE conveyor_job AS job
    SET parked = CASE WHEN job.id = ANY (ARRAY(SELECT behind.id FROM behind WHERE behind.paused))
                      THEN 'task' ELSE 'key' END
    WHERE job.id = ANY (ARRAY(SELECT behind.id FROM behind))
    RETURNING job.queue, job.concurrency_key, job.parked
)
SELECT 'claimed' AS kind, claimed.id, claimed.lease_version, claimed.queue, claimed.task, payload.args, payload.kwargs,
       claimed.attempt, claimed.max_attempts, claimed.lost_count, claimed.release_count,
       (%(leases)s::float8[])[array_position(%(queues)s::text[], claimed.queue)] AS lease, claimed.created_at,
       claimed.concurrency_key, claimed.workflow_id, NULL::integer AS cap, claimed.priority, claimed.ready_seq
FROM claimed
-- LIMIT keeps this a probe per job; without it, a plan made on an empty table walks the whole index for ever.
LEFT JOIN LATERAL (
    SELECT args::text, kwargs::text FROM conveyor_payload WHERE job_id = claimed.id LIMIT 1
) AS payload ON true
UNION ALL
SELECT DISTINCT 'parked', NULL::bigint, NULL::bigint, parked.queue, NULL, NULL, NULL, NULL::integer, NULL::integer,
       NULL::integer, NULL::integer, NULL::float8, NULL::timestamptz,
       CASE WHEN parked.parked = 'key' THEN parked.concurrency_key END, NULL::bigint, NULL::integer, NULL::smallint,
       NULL::bigint
FROM parked
UNION ALL
SELECT 'unprovided', NULL, NULL, unprovided.queue, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       unprovided.key, NULL, unprovided.cap, NULL, NULL
FROM unprovided
ORDER BY priority DESC NULLS LAST, ready_seq
