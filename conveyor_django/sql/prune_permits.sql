-- Delete permits that nobody has taken for long: keys come and go. A claim that misses one has it made again.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
idle AS MATERIALIZED (
    SELECT place.id
    FROM conveyor_permit AS known
    -- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
    LEFT JOIN LATERAL (
        SELECT job.id
        FROM conveyor_job AS job
        WHERE job.id = known.job_id AND job.state || '' = 'running' AND job.lease_version = known.lease_version
        LIMIT 1
    ) AS run ON true
    -- Free as in claim_jobs: the comparison sees, under the lock, a claim that came between.
    CROSS JOIN LATERAL (
        SELECT permit.id
        FROM conveyor_permit AS permit
        WHERE permit.id = known.id AND permit.job_id = known.job_id AND permit.lease_version = known.lease_version
        FOR UPDATE SKIP LOCKED
    ) AS place
    WHERE known.taken_at < (SELECT now FROM clock) - make_interval(secs => %(idle)s::float8) AND run.id IS NULL
    ORDER BY known.id
    LIMIT %(limit)s::integer
)
DELETE FROM conveyor_permit WHERE id = ANY (ARRAY(SELECT idle.id FROM idle))
RETURNING id
