-- Make one scheduled job ready now, whether its own time lies ahead or the delay of a retry. One row is locked, so this
-- may wait for its lock; the WHERE is evaluated again on what the other transaction left.
UPDATE conveyor_job
SET state = 'ready',
    -- One that is due already, and not promoted yet, keeps the time that it was due at.
    run_at = least(run_at, coalesce(%(now)s::timestamptz, statement_timestamp())),
    ready_seq = nextval('conveyor_ready_seq')
-- `|| ''` keeps the planner off the index of scheduled jobs, which old statistics make look empty.
WHERE id = %(id)s::bigint AND state || '' = 'scheduled'
RETURNING queue
