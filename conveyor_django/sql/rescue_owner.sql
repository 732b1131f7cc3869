-- Take back all that a dead owner holds. Where its supervisor knows what had started (`knows_started`), the
-- rest is given back free; otherwise every run counts as lost (rule 5).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
held AS MATERIALIZED (
    SELECT job.id, job.lease_version, job.attempt, job.lost_count, job.release_count, job.claimed_at,
           job.cancel_requested_at IS NOT NULL AS cancelling,
           NOT %(knows_started)s::boolean OR EXISTS (
               SELECT FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS started (id, version)
               WHERE started.id = job.id AND started.version = job.lease_version) AS lost
    FROM conveyor_job AS job
    WHERE job.state = 'running' AND job.lease_owner = %(owner)s::uuid
    FOR NO KEY UPDATE OF job SKIP LOCKED
),
recorded AS (
    INSERT INTO conveyor_attempt
        (job_id, lease_version, number, verb, owner, error_class, message, traceback, started_at, finished_at)
    SELECT held.id, held.lease_version, held.attempt + held.lost_count,
           CASE WHEN held.lost THEN 'rescue' ELSE 'release' END, %(owner)s::uuid,
           CASE WHEN held.lost THEN %(error_class)s::text ELSE '' END,
           CASE WHEN held.lost THEN %(reason)s::text ELSE %(free_reason)s::text END,
           '', held.claimed_at, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, lease_version) DO NOTHING
),
fate AS MATERIALIZED (
    SELECT held.id, held.lost,
           CASE WHEN held.cancelling THEN 'cancelled'
                WHEN held.lost AND held.lost_count + 1 >= %(max_lost)s::integer THEN 'failed'
                WHEN NOT held.lost AND held.release_count >= %(max_releases)s::integer THEN 'failed'
                ELSE 'ready' END AS state
    FROM held
),
-- A subquery, not a join: a join let the planner fetch all rows once for each of them.
rescued AS (
    UPDATE conveyor_job AS job
    SET (state, lost_count, release_count, ready_seq, finished_at) = (
            SELECT fate.state,
                   job.lost_count + fate.lost::integer,
                   job.release_count + (NOT fate.lost)::integer,
                   CASE WHEN fate.state = 'ready' THEN nextval('conveyor_ready_seq') ELSE job.ready_seq END,
                   CASE WHEN fate.state <> 'ready' THEN clock.now END
            FROM fate CROSS JOIN clock
            WHERE fate.id = job.id),
        attempt = job.attempt - 1,
        lease_owner = NULL, lease_expires_at = NULL
    WHERE job.id = ANY (ARRAY(SELECT id FROM fate))
    RETURNING job.id, job.queue, job.state
)
SELECT rescued.id, rescued.queue, rescued.state, held.lease_version, held.lost
FROM rescued JOIN held USING (id)
