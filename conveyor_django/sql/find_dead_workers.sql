-- Workers that look dead: silent for longer than their lease, or their session lock is gone. The second counts
-- only once the server has been up for a while: after a restart everybody's session is gone at once.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
alive AS MATERIALIZED (
    SELECT (lock.classid::bigint << 32) | lock.objid::bigint AS key
    FROM pg_locks AS lock
    WHERE lock.locktype = 'advisory' AND lock.objsubid = 1 AND lock.granted
      AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT worker.incarnation,
       worker.last_seen < clock.now - make_interval(secs => worker.lease_seconds) AS silent
FROM conveyor_worker AS worker CROSS JOIN clock
WHERE worker.last_seen < clock.now - make_interval(secs => worker.lease_seconds)
   OR (worker.holds_lock
       AND statement_timestamp() - pg_postmaster_start_time() > make_interval(secs => worker.lease_seconds)
       AND NOT EXISTS (
           SELECT FROM alive WHERE alive.key = hashtextextended(worker.incarnation::text, 0)))
