-- Lease up to `limit` ready jobs to `owner`: queues in the order of the array, by priority and age in each. Where a
-- cap is in force a job also takes its permits, or is parked; `kind` says what each row of the answer is.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- Read only where a queue has a cap, once for all of them.
running AS MATERIALIZED (
    SELECT job.queue FROM conveyor_job AS job WHERE job.state = 'running'
),
-- What each queue's settings leave room for, counted without a lock: enough for a soft cap.
turn AS MATERIALIZED (
    SELECT input.queue, settings.exact_cap, coalesce(settings.key_cap, 1) AS key_cap, ran.jobs AS running,
           CASE WHEN settings.paused THEN 0
                WHEN settings.capped THEN greatest(0, least(
                    %(limit)s::integer, least(settings.soft_cap, settings.exact_cap) - ran.jobs))
                ELSE %(limit)s::integer END AS room
    FROM unnest(%(queues)s::text[]) AS input (queue)
    LEFT JOIN LATERAL (
        SELECT paused, soft_cap, exact_cap, key_cap, soft_cap IS NOT NULL OR exact_cap IS NOT NULL AS capped
        FROM conveyor_queue WHERE name = input.queue
        LIMIT 1
    ) AS settings ON true
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs FROM running
        WHERE settings.capped AND NOT settings.paused AND running.queue = input.queue
    ) AS ran
),
seen AS MATERIALIZED (
    SELECT turn.queue, turn.exact_cap, turn.key_cap, turn.running, picked.*,
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
-- How many permits of which caps the candidates would take; a queue's own cap has the key ''. What runs in a queue
-- counts in its cap with or without a permit: the cap may be younger than the run.
demand AS MATERIALIZED (
    SELECT queue, '' AS key, exact_cap AS cap, count(*) AS jobs, running
    FROM seen
    WHERE exact_cap IS NOT NULL AND NOT paused
    GROUP BY queue, exact_cap, running
    UNION ALL
    SELECT queue, concurrency_key, key_cap, count(*), NULL
    FROM seen
    WHERE concurrency_key IS NOT NULL AND NOT paused
    GROUP BY queue, concurrency_key, key_cap
),
-- Free is a permit whose run is over. A run that was over in this snapshot stays so; a permit that another claim has
-- taken since then names another run by now, which the comparison sees when the lock has it read anew (rule 1).
-- Only as many free permits are tried as the snapshot leaves room for, the lowest first: another claim of the same
-- snapshot tries the same, so that the two together stay in the cap, also where it was lowered.
permit AS MATERIALIZED (
    SELECT demand.queue, demand.key, free.id, row_number() OVER (PARTITION BY demand.queue, demand.key) AS nth
    FROM demand
    CROSS JOIN LATERAL (
        SELECT place.id
        FROM (
            SELECT known.*,
                   row_number() OVER (PARTITION BY known.holder IS NULL ORDER BY known.number) AS nth,
                   coalesce(demand.running, count(known.holder) OVER ()) AS held
            FROM (
                SELECT permit.id, permit.number, permit.job_id, permit.lease_version, run.id AS holder
                FROM conveyor_permit AS permit
                LEFT JOIN LATERAL (
                    SELECT job.id
                    FROM conveyor_job AS job
                    -- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
                    WHERE job.id = permit.job_id AND job.state || '' = 'running'
                      AND job.lease_version = permit.lease_version
                    LIMIT 1
                ) AS run ON true
                WHERE permit.queue = demand.queue AND permit.key = demand.key
            ) AS known
        ) AS known
        CROSS JOIN LATERAL (
            SELECT permit.id
            FROM conveyor_permit AS permit
            WHERE permit.id = known.id
              AND permit.job_id = known.job_id AND permit.lease_version = known.lease_version
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS place
        WHERE known.holder IS NULL AND known.number <= demand.cap AND known.nth <= demand.cap - known.held
        LIMIT demand.jobs
    ) AS free
),
-- Parked jobs of a key have their turn with those in line, by priority and age: who comes later does not overtake.
waiting AS MATERIALIZED (
    SELECT grants.queue, seen.exact_cap, job.*
    FROM (SELECT queue, key, count(*) AS permits FROM permit WHERE key <> '' GROUP BY queue, key) AS grants
    CROSS JOIN LATERAL (
        SELECT seen.exact_cap FROM seen WHERE seen.queue = grants.queue LIMIT 1
    ) AS seen
    CROSS JOIN LATERAL (
        SELECT candidate.id, candidate.lease_version, candidate.task, candidate.concurrency_key, candidate.priority,
               candidate.ready_seq
        FROM (
            SELECT job.id, job.task
            FROM conveyor_job AS job
            WHERE job.queue = grants.queue AND job.concurrency_key = grants.key
              AND job.state = 'ready' AND job.parked = 'key'
            ORDER BY job.priority DESC, job.ready_seq
            LIMIT grants.permits + %(park)s::integer
        ) AS next
        CROSS JOIN LATERAL (
            SELECT job.id, job.lease_version, job.task, job.concurrency_key, job.priority, job.ready_seq
            FROM conveyor_job AS job
            WHERE job.id = next.id AND job.state || '' = 'ready' AND job.parked || '' = 'key'
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS candidate
        WHERE next.task <> ALL (ARRAY(SELECT task FROM conveyor_pausedtask))
        LIMIT grants.permits
    ) AS job
),
keyed AS MATERIALIZED (
    SELECT candidate.*,
           (SELECT permit.id FROM permit
            WHERE permit.queue = candidate.queue AND permit.key = candidate.concurrency_key
              AND permit.nth = candidate.nth) AS key_permit
    FROM (
        SELECT contender.*, row_number() OVER (
                   PARTITION BY queue, concurrency_key ORDER BY priority DESC, ready_seq) AS nth
        FROM (
            SELECT queue, exact_cap, id, lease_version, concurrency_key, priority, ready_seq, true AS in_line
            FROM seen
            WHERE NOT paused
            UNION ALL
            SELECT queue, exact_cap, id, lease_version, concurrency_key, priority, ready_seq, false
            FROM waiting
        ) AS contender
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
        parked = NULL,
        attempt = job.attempt + 1,
        lease_owner = %(owner)s::uuid,
        lease_version = job.lease_version + 1,
        lease_expires_at = (SELECT now FROM clock) + make_interval(
            secs => (%(leases)s::float8[])[array_position(%(queues)s::text[], job.queue)]),
        started_at = coalesce(job.started_at, (SELECT now FROM clock)),
        claimed_at = (SELECT now FROM clock)
    -- The guard stands in the locking selects above (rule 1). An array, not a join: a join let the planner
    -- walk the whole table.
    WHERE job.id = ANY (ARRAY(SELECT leased.id FROM leased))
    RETURNING job.id, job.lease_version, job.queue, job.task, job.attempt, job.max_attempts, job.lost_count,
        job.release_count, job.created_at, job.priority, job.ready_seq, job.concurrency_key, job.workflow_id,
        date_part('epoch', job.claimed_at - greatest(job.run_at, job.created_at)) AS waited
),
-- Caps whose places were never made, or too few: the caller makes them, and claims again.
unprovided AS MATERIALIZED (
    SELECT demand.queue, demand.key, demand.cap
    FROM demand
    WHERE demand.cap > (
        SELECT count(*) FROM conveyor_permit AS permit
        WHERE permit.queue = demand.queue AND permit.key = demand.key AND permit.number <= demand.cap)
),
-- What nothing may claim now: of a paused task, or of a key without a free permit.
refused AS MATERIALIZED (
    SELECT queue, task, NULL AS key FROM seen WHERE paused
    UNION
    SELECT keyed.queue, NULL, keyed.concurrency_key
    FROM keyed
    WHERE keyed.concurrency_key IS NOT NULL AND keyed.key_permit IS NULL AND keyed.in_line
      AND NOT EXISTS (
          SELECT FROM unprovided
          WHERE unprovided.queue = keyed.queue AND unprovided.key = keyed.concurrency_key)
),
-- Such jobs are moved out of the way, with those right behind them: the next claims do not meet them again.
behind AS MATERIALIZED (
    SELECT job.id, ahead.paused
    FROM (SELECT DISTINCT queue FROM refused) AS turn
    CROSS JOIN LATERAL (
        SELECT candidate.id, candidate.task, candidate.concurrency_key,
               EXISTS (SELECT FROM refused WHERE refused.queue = turn.queue AND refused.task = candidate.task) AS paused
        FROM (
            SELECT job.id, job.task, job.concurrency_key
            FROM conveyor_job AS job
            WHERE job.queue = turn.queue AND job.state = 'ready' AND job.parked IS NULL
            ORDER BY job.priority DESC, job.ready_seq
            LIMIT %(limit)s::integer + %(park)s::integer
        ) AS candidate
    ) AS ahead
    -- Only what is parked is locked: the jobs between stay within reach of other claims.
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM conveyor_job AS job
        WHERE job.id = ahead.id AND job.state || '' = 'ready' AND job.parked IS NULL
          AND (ahead.paused OR EXISTS (
              SELECT FROM refused WHERE refused.queue = turn.queue AND refused.key = ahead.concurrency_key))
        FOR NO KEY UPDATE OF job SKIP LOCKED
    ) AS job
    WHERE NOT EXISTS (SELECT FROM leased WHERE leased.id = job.id)
),
parked AS (
    UPDATE conveyor_job AS job
    SET parked = CASE WHEN job.id = ANY (ARRAY(SELECT behind.id FROM behind WHERE behind.paused))
                      THEN 'task' ELSE 'key' END
    WHERE job.id = ANY (ARRAY(SELECT behind.id FROM behind))
    RETURNING job.queue, job.concurrency_key
)
SELECT 'claimed' AS kind, claimed.id, claimed.lease_version, claimed.queue, claimed.task, payload.args, payload.kwargs,
       claimed.attempt, claimed.max_attempts, claimed.lost_count, claimed.release_count,
       (%(leases)s::float8[])[array_position(%(queues)s::text[], claimed.queue)] AS lease, claimed.created_at,
       claimed.concurrency_key, claimed.workflow_id, claimed.waited, payload.traceparent, payload.tracestate,
       NULL::integer AS cap, claimed.priority, claimed.ready_seq
FROM claimed
-- LIMIT keeps this a probe per job; without it, a plan made on an empty table walks the whole index for ever.
LEFT JOIN LATERAL (
    SELECT args::text, kwargs::text, traceparent, tracestate FROM conveyor_payload WHERE job_id = claimed.id LIMIT 1
) AS payload ON true
UNION ALL
SELECT DISTINCT 'parked', NULL::bigint, NULL::bigint, parked.queue, NULL, NULL, NULL, NULL::integer, NULL::integer,
       NULL::integer, NULL::integer, NULL::float8, NULL::timestamptz,
       parked.concurrency_key, NULL::bigint, NULL::float8, NULL::text, NULL::text, NULL::integer, NULL::smallint,
       NULL::bigint
FROM parked
UNION ALL
SELECT 'unprovided', NULL, NULL, unprovided.queue, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
       unprovided.key, NULL, NULL, NULL, NULL, unprovided.cap, NULL, NULL
FROM unprovided
ORDER BY priority DESC NULLS LAST, ready_seq
