-- After a reconnect: give back, free, what the owner holds but does not know (a claim whose reply was lost).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
held AS MATERIALIZED (
    SELECT job.id, job.lease_version, job.attempt, job.lost_count, job.release_count, job.claimed_at,
           job.cancel_requested_at IS NOT NULL AS cancelling
    FROM conveyor_job AS job
    WHERE job.state = 'running' AND job.lease_owner = %(owner)s::uuid
      -- NOT IN, since an anti-join could walk the primary key.
      AND (job.id, job.lease_version) NOT IN (
          SELECT id, version FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS known (id, version))
    FOR NO KEY UPDATE OF job SKIP LOCKED
),
recorded AS (
    INSERT INTO conveyor_attempt
        (job_id, lease_version, number, verb, owner, error_class, message, traceback, started_at, finished_at)
    SELECT held.id, held.lease_version, held.attempt + held.lost_count, 'release', %(owner)s::uuid,
           '', 'claimed, but the reply was lost with the connection', '', held.claimed_at, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, lease_version) DO NOTHING
    RETURNING job_id
),
fate AS MATERIALIZED (
    SELECT held.id,
           CASE WHEN held.cancelling THEN 'cancelled'
                WHEN held.release_count >= %(max_releases)s::integer THEN 'failed'
                ELSE 'ready' END AS state
    FROM held
    JOIN recorded ON recorded.job_id = held.id
),
-- A subquery, not a join: a join let the planner fetch all rows once for each of them.
released AS (
    UPDATE conveyor_job AS job
    SET (state, ready_seq, finished_at) = (
            SELECT fate.state,
                   CASE WHEN fate.state = 'ready' THEN nextval('conveyor_ready_seq') ELSE job.ready_seq END,
                   CASE WHEN fate.state <> 'ready' THEN clock.now END
            FROM fate CROSS JOIN clock
            WHERE fate.id = job.id),
        attempt = job.attempt - 1,
        release_count = job.release_count + 1,
        lease_owner = NULL, lease_expires_at = NULL
    WHERE job.id = ANY (ARRAY(SELECT id FROM fate))
    RETURNING job.id, job.queue, job.state
)
SELECT id, queue, state FROM released
