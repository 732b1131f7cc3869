-- Cancel one job: at once while it waits, by a request while it runs. One row is locked, so this may wait for
-- its lock; the WHERE and the CASE are evaluated again on what the other transaction left.
UPDATE conveyor_job
SET state = CASE WHEN state = 'running' THEN 'running' ELSE 'cancelled' END,
    parked = NULL,
    cancel_requested_at = coalesce(cancel_requested_at, %(now)s::timestamptz, statement_timestamp()),
    finished_at = CASE WHEN state = 'running' THEN NULL
                       ELSE coalesce(%(now)s::timestamptz, statement_timestamp()) END
WHERE id = %(id)s::bigint AND state IN ('blocked', 'scheduled', 'ready', 'running')
RETURNING state
