-- Make way for a newer job of the same key: a job that waits is cancelled, one that has ended stays as it is, and gives
-- its key up, for the insert behind this statement. One row is locked, so this may wait for its lock; the WHERE is
-- evaluated again on what the other transaction left, so a claim that came first wins. Its payload stays: a claim that
-- reads it by an older snapshot must find the arguments of the job that it claimed.
UPDATE conveyor_job
SET state = CASE WHEN state IN ('scheduled', 'ready') THEN 'cancelled' ELSE state END,
    parked = NULL, idempotency_key = NULL,
    cancel_requested_at = CASE WHEN state IN ('scheduled', 'ready')
                               THEN coalesce(%(now)s::timestamptz, statement_timestamp()) ELSE cancel_requested_at END,
    finished_at = coalesce(finished_at, %(now)s::timestamptz, statement_timestamp())
-- `coalesce` keeps the planner from the keys' index, which begins with the queue.
WHERE id = %(id)s::bigint AND coalesce(idempotency_key, '') = %(idempotency_key)s::text
  AND state NOT IN ('blocked', 'running') AND workflow_id IS NULL
RETURNING id
