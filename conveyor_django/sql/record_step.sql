-- Record the result of one durable step, fenced. Answers as the outcome statements do (rule 2), with what the ledger
-- holds for the step.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    SELECT id, version
    FROM unnest(ARRAY[%(id)s::bigint], ARRAY[%(version)s::bigint]) AS input (id, version)
),
-- The fence: re-read under the row's lock, so a lease taken over meanwhile is seen (rule 1).
held AS MATERIALIZED (
    SELECT lease.id, lease.lease_version
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
recorded AS (
    INSERT INTO conveyor_ledger (job_id, step, lease_version, owner, result, committed_at)
    SELECT held.id, %(step)s::text, held.lease_version, %(owner)s::uuid, %(result)s::jsonb, clock.now
    FROM held CROSS JOIN clock
    ON CONFLICT (job_id, step) DO NOTHING
    RETURNING job_id, result
)
SELECT CASE WHEN recorded.job_id IS NOT NULL THEN 'won'
            WHEN earlier.job_id IS NOT NULL THEN 'won before'
            WHEN mine.id IS NOT NULL THEN 'busy'
            ELSE 'lost' END,
       -- As stored, not as given: jsonb has its own order of keys and form of numbers.
       coalesce(recorded.result, earlier.result)::text
FROM given
LEFT JOIN recorded ON recorded.job_id = given.id
-- LIMIT keeps each of these a probe, made only where nothing was won.
-- Mine, or of an earlier run whose job I hold now.
LEFT JOIN LATERAL (
    SELECT ledger.job_id, ledger.result
    FROM conveyor_ledger AS ledger
    WHERE recorded.job_id IS NULL AND ledger.job_id = given.id AND ledger.step = %(step)s::text
      AND ((ledger.lease_version = given.version AND ledger.owner = %(owner)s::uuid)
           OR EXISTS (SELECT FROM held WHERE held.id = given.id))
    LIMIT 1
) AS earlier ON true
-- As the snapshot saw it: mine, but not lockable; or the step's row was not yet visible.
LEFT JOIN LATERAL (
    SELECT job.id
    FROM conveyor_job AS job
    WHERE recorded.job_id IS NULL AND job.id = given.id AND job.state || '' = 'running'
      AND job.lease_owner = %(owner)s::uuid AND job.lease_version = given.version
    LIMIT 1
) AS mine ON true
