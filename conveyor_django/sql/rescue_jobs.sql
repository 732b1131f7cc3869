-- Take back running jobs whose lease has lapsed. The run counts as lost: its attempt is refunded, and the job
-- fails once it was lost too often (rule 5).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, %(lock_id)s::integer) AS mine
),
-- The state and the expiry are re-checked under the lock: an outcome or a renewal that came first has won.
held AS MATERIALIZED (
    SELECT job.id, job.lease_version, job.lease_owner, job.attempt, job.lost_count, job.claimed_at,
           job.cancel_requested_at IS NOT NULL AS cancelling
    FROM conveyor_job AS job
    WHERE (SELECT mine FROM turn)
      AND job.state = 'running' AND job.lease_expires_at < (SELECT now FROM clock)
    LIMIT %(limit)s::integer
    FOR NO KEY UPDATE OF job SKIP LOCKED
),
recorded AS (
    INSERT INTO conveyor_attempt
        (job_id, lease_version, number, verb, owner, error_class, message, traceback, started_at, finished_at)
    SELECT held.id, held.lease_version, held.attempt + held.lost_count, 'rescue', held.lease_owner,
           %(error_class)s::text, 'the lease lapsed: its worker died, froze or lost the database', '',
           held.claimed_at, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, lease_version) DO NOTHING
),
fate AS MATERIALIZED (
    SELECT held.id,
           CASE WHEN held.cancelling THEN 'cancelled'
                WHEN held.lost_count + 1 >= %(max_lost)s::integer THEN 'failed'
                ELSE 'ready' END AS state
    FROM held
),
-- A subquery, not a join: a join let the planner fetch all rows once for each of them.
rescued AS (
    UPDATE conveyor_job AS job
    SET (state, ready_seq, finished_at) = (
            SELECT fate.state,
                   CASE WHEN fate.state = 'ready' THEN nextval('conveyor_ready_seq') ELSE job.ready_seq END,
                   CASE WHEN fate.state <> 'ready' THEN clock.now END
            FROM fate CROSS JOIN clock
            WHERE fate.id = job.id),
        attempt = job.attempt - 1,
        lost_count = job.lost_count + 1,
        lease_owner = NULL, lease_expires_at = NULL
    WHERE job.id = ANY (ARRAY(SELECT id FROM fate))
    RETURNING job.id, job.queue, job.state
)
SELECT rescued.id, rescued.queue, rescued.state, held.lease_version, held.lease_owner
FROM rescued JOIN held USING (id)
