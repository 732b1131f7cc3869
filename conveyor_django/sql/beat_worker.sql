-- Say that a worker process lives, and hear whether it is to drain. No row: it was declared dead and must stop.
UPDATE conveyor_worker
SET last_seen = coalesce(%(now)s::timestamptz, statement_timestamp()),
    draining = %(draining)s::boolean, holds_lock = %(holds_lock)s::boolean
WHERE incarnation = %(incarnation)s::uuid
RETURNING drain_requested_at IS NOT NULL
