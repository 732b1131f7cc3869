-- Make failed and cancelled jobs ready again with fresh budgets; the lease version goes on growing.
WITH chosen AS MATERIALIZED (
    SELECT job.id
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT dead.id
        FROM conveyor_job AS dead
        -- `|| ''` keeps the planner off the index of ended jobs, which old statistics make look empty.
        WHERE dead.id = given.id AND dead.state || '' IN ('failed', 'cancelled')
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS job
)
UPDATE conveyor_job
SET state = 'ready', attempt = 0, lost_count = 0, release_count = 0,
    run_at = coalesce(%(now)s::timestamptz, statement_timestamp()),
    ready_seq = nextval('conveyor_ready_seq'),
    cancel_requested_at = NULL, finished_at = NULL
WHERE id = ANY (ARRAY(SELECT id FROM chosen))
RETURNING id, queue
