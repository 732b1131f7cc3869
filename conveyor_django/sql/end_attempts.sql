-- End runs that did not succeed (retry, snooze, fail, cancel, release), each with its Attempt row, and answer
-- for every (id, version) given (rule 2).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    SELECT *
    FROM unnest(
        %(ids)s::bigint[], %(versions)s::bigint[], %(verbs)s::text[], %(delays)s::float8[],
        %(error_classes)s::text[], %(messages)s::text[], %(tracebacks)s::text[]
    ) AS input (id, version, verb, delay, error_class, message, traceback)
    ORDER BY id
),
-- The fence: re-read under the row's lock, so a lease taken over meanwhile is seen (rule 1).
held AS MATERIALIZED (
    SELECT lease.*, given.verb, given.delay, given.error_class, given.message, given.traceback
    FROM given
    CROSS JOIN LATERAL (
        SELECT job.id, job.lease_version, job.attempt, job.lost_count, job.release_count, job.claimed_at,
               job.cancel_requested_at IS NOT NULL AS cancelling
        FROM conveyor_job AS job
        -- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
        WHERE job.id = given.id AND job.state || '' = 'running'
          AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS lease
),
recorded AS (
    INSERT INTO conveyor_attempt
        (job_id, lease_version, number, verb, owner, error_class, message, traceback, started_at, finished_at)
    SELECT held.id, held.lease_version, held.attempt + held.lost_count, held.verb, %(owner)s::uuid,
           held.error_class, held.message, held.traceback, held.claimed_at, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, lease_version) DO NOTHING
    RETURNING job_id
),
-- Versions grow by one a claim, so this bounds the rows of a job.
trimmed AS (
    DELETE FROM conveyor_attempt AS attempt
    USING held
    WHERE attempt.job_id = held.id AND attempt.lease_version <= held.lease_version - %(keep)s::bigint
      -- Few jobs have come that far; by the array alone does the planner keep to their rows.
      AND attempt.job_id = ANY (ARRAY(SELECT id FROM held WHERE lease_version > %(keep)s::bigint))
),
fate AS MATERIALIZED (
    SELECT held.id, held.verb, held.delay,
           CASE WHEN held.cancelling OR held.verb = 'cancel' THEN 'cancelled'
                WHEN held.verb = 'fail' THEN 'failed'
                WHEN held.verb = 'release' AND held.release_count >= %(max_releases)s::integer THEN 'failed'
                WHEN held.delay > 0 THEN 'scheduled'
                ELSE 'ready' END AS state
    FROM held
    JOIN recorded ON recorded.job_id = held.id
),
-- A subquery, not a join: a join let the planner fetch all rows once for each of them.
won AS (
    UPDATE conveyor_job AS job
    SET (state, attempt, release_count, run_at, ready_seq, finished_at) = (
            SELECT fate.state,
                   job.attempt - (fate.verb IN ('snooze', 'release'))::integer,
                   job.release_count + (fate.verb = 'release')::integer,
                   CASE WHEN fate.state = 'scheduled' THEN clock.now + make_interval(secs => fate.delay)
                        WHEN fate.state = 'ready' THEN clock.now ELSE job.run_at END,
                   CASE WHEN fate.state = 'ready' THEN nextval('conveyor_ready_seq') ELSE job.ready_seq END,
                   CASE WHEN fate.state IN ('failed', 'cancelled') THEN clock.now END
            FROM fate CROSS JOIN clock
            WHERE fate.id = job.id),
        lease_owner = NULL, lease_expires_at = NULL
    WHERE job.id = ANY (ARRAY(SELECT id FROM fate))
    RETURNING job.id, job.lease_version, job.queue, job.state
)
SELECT given.id, given.version,
       CASE WHEN won.id IS NOT NULL THEN 'won'
            WHEN earlier.version IS NOT NULL THEN 'won before'
            WHEN mine.id IS NOT NULL THEN 'busy'
            ELSE 'lost' END,
       won.state, won.queue
FROM given
-- By version too: of one job an older token may be given beside the newer one.
LEFT JOIN won ON won.id = given.id AND won.lease_version = given.version
-- LIMIT keeps each of these a probe, made only where nothing was won; without it, a plan made on empty tables
-- walks whole indexes for ever.
-- An atomic success of the same run counts too: its reply may have been lost, and the handler seen as failed.
LEFT JOIN LATERAL (
    SELECT attempt.lease_version AS version
    FROM conveyor_attempt AS attempt
    WHERE won.id IS NULL AND attempt.job_id = given.id AND attempt.lease_version = given.version
      -- A rescue leaves a row of my version too, under its own verb.
      AND attempt.owner = %(owner)s::uuid AND attempt.verb = given.verb
    UNION ALL
    SELECT ledger.lease_version
    FROM conveyor_ledger AS ledger
    WHERE won.id IS NULL
      AND ledger.job_id = given.id AND ledger.step = '' AND ledger.lease_version = given.version
      AND ledger.owner = %(owner)s::uuid
    LIMIT 1
) AS earlier ON true
LEFT JOIN LATERAL (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE won.id IS NULL AND job.id = given.id AND job.state || '' = 'running'
      AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
      AND NOT EXISTS (SELECT FROM held WHERE held.id = given.id)
    LIMIT 1
) AS mine ON true
