-- End runs as succeeded, each with its one ledger row, and answer for every (id, version) given (rule 2).
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    SELECT id, version, result
    FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[], %(results)s::jsonb[]) AS input (id, version, result)
    ORDER BY id
),
-- The fence: re-read under the row's lock, so a lease taken over meanwhile is seen (rule 1).
held AS MATERIALIZED (
    SELECT lease.id, lease.lease_version, given.result
    FROM given
    CROSS JOIN LATERAL (
        SELECT job.id, job.lease_version
        FROM conveyor_job AS job
        -- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
        WHERE job.id = given.id AND job.state || '' = 'running'
          AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS lease
),
-- The second lock: unique (job, step). The job is written only where the row was its own.
committed AS (
    INSERT INTO conveyor_ledger (job_id, step, lease_version, owner, result, committed_at)
    SELECT held.id, '', held.lease_version, %(owner)s::uuid, held.result, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, step) DO NOTHING
    RETURNING job_id
),
won AS (
    UPDATE conveyor_job
    SET state = 'succeeded', finished_at = (SELECT now FROM clock),
        lease_owner = NULL, lease_expires_at = NULL
    WHERE id = ANY (ARRAY(SELECT job_id FROM committed))
    RETURNING id, lease_version
)
SELECT given.id, given.version,
       CASE WHEN won.id IS NOT NULL THEN 'won'
            WHEN earlier.version IS NOT NULL THEN 'won before'
            WHEN mine.id IS NOT NULL THEN 'busy'
            ELSE 'lost' END
FROM given
-- In arrays: a join of two CTEs would compare every row of one with every row of the other, which for 500 jobs takes as
-- long as all the rest.
CROSS JOIN (SELECT array_agg(id) AS ids, array_agg(lease_version) AS versions FROM won) AS winners
LEFT JOIN LATERAL (
    SELECT given.id
    -- By version too: of one job an older token may be given beside the newer one.
    WHERE winners.versions[array_position(winners.ids, given.id)] = given.version
) AS won ON true
-- LIMIT keeps each of these a probe, made only where nothing was won; without it, a plan made on empty tables
-- walks whole indexes for ever.
LEFT JOIN LATERAL (
    SELECT ledger.lease_version AS version
    FROM conveyor_ledger AS ledger
    WHERE won.id IS NULL
      AND ledger.job_id = given.id AND ledger.step = '' AND ledger.lease_version = given.version
      AND ledger.owner = %(owner)s::uuid
    LIMIT 1
) AS earlier ON true
-- As the snapshot saw it: mine, but not lockable. One that was locked and not won is refused by the ledger for good.
LEFT JOIN LATERAL (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE won.id IS NULL AND job.id = given.id AND job.state || '' = 'running'
      AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
      AND NOT EXISTS (SELECT FROM held WHERE held.id = given.id)
    LIMIT 1
) AS mine ON true
