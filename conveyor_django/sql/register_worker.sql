-- Make a worker process known. The advisory lock is held by its session for as long as that lives.
INSERT INTO conveyor_worker
    (incarnation, host, pid, supervisor_pid, queues, slots, lease_seconds, holds_lock, draining, started_at,
     last_seen)
SELECT %(incarnation)s::uuid, %(host)s::text, %(pid)s::integer, %(supervisor_pid)s::integer, %(queues)s::jsonb,
       %(slots)s::integer, %(lease_seconds)s::float8, %(holds_lock)s::boolean, false, clock.now, clock.now
FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now) AS clock
RETURNING incarnation
