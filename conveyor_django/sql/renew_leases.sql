-- Extend the leases named by (id, version), and say of each whether it is still the caller's.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    SELECT id, version
    FROM unnest(%(ids)s::bigint[], %(versions)s::bigint[]) AS input (id, version)
    ORDER BY id
),
-- By token, not by owner: a job that its holder does not name must lapse (rule 4).
held AS MATERIALIZED (
    SELECT lease.id
    FROM given
    CROSS JOIN LATERAL (
        SELECT job.id
        FROM conveyor_job AS job
        -- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
        WHERE job.id = given.id AND job.state || '' = 'running'
          AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS lease
),
renewed AS (
    UPDATE conveyor_job
    SET lease_expires_at = (SELECT now FROM clock) + make_interval(
        secs => (%(leases)s::float8[])[array_position(%(ids)s::bigint[], id)])
    WHERE id = ANY (ARRAY(SELECT id FROM held))
    RETURNING id, lease_version, cancel_requested_at
)
SELECT given.id, given.version,
       CASE WHEN renewed.id IS NOT NULL THEN 'won' WHEN mine.id IS NOT NULL THEN 'busy' ELSE 'lost' END,
       renewed.cancel_requested_at IS NOT NULL
FROM given
-- By version too: of one job an older token may be given beside the newer one.
LEFT JOIN renewed ON renewed.id = given.id AND renewed.lease_version = given.version
-- As the statement's snapshot saw it: still mine but not lockable means that somebody holds the row.
LEFT JOIN LATERAL (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE renewed.id IS NULL AND job.id = given.id AND job.state || '' = 'running'
      AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
    -- Keeps this a probe, made only where needed, also by a plan that was made when the table was empty.
    LIMIT 1
) AS mine ON true
