-- What keeps vacuum from removing dead rows of this database, and for how long it has: sessions in a transaction that
-- has a snapshot or an id, prepared transactions, and replication slots. Seconds are null where nobody knows them, as
-- those of another role's session; `age` is in transactions.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
holder AS MATERIALIZED (
    SELECT 'session' AS kind, activity.pid::text AS name, activity.application_name,
           coalesce(activity.state, '') AS state,
           extract(epoch FROM clock.now - activity.xact_start)::float8 AS seconds,
           greatest(age(activity.backend_xmin), age(activity.backend_xid)) AS age
    FROM pg_stat_activity AS activity CROSS JOIN clock
    WHERE activity.pid <> pg_backend_pid()
      AND (activity.backend_xmin IS NOT NULL OR activity.backend_xid IS NOT NULL)
      -- Snapshots in other databases hold nothing back here; what a standby reads does.
      AND ((activity.datname = current_database() AND activity.backend_type = 'client backend')
           OR activity.backend_type = 'walsender')
    UNION ALL
    SELECT 'prepared', prepared.gid, '', '', extract(epoch FROM clock.now - prepared.prepared)::float8,
           age(prepared.transaction)
    FROM pg_prepared_xacts AS prepared CROSS JOIN clock
    WHERE prepared.database = current_database()
    UNION ALL
    SELECT 'slot', slot.slot_name::text, coalesce(slot.plugin::text, ''),
           CASE WHEN slot.active THEN 'active' ELSE 'inactive' END, NULL::float8, age(slot.xmin)
    FROM pg_replication_slots AS slot
    WHERE slot.xmin IS NOT NULL
)
SELECT kind, name, application_name, state, seconds, age
FROM holder
WHERE seconds >= %(seconds)s::float8 OR (seconds IS NULL AND age >= %(transactions)s::bigint)
ORDER BY seconds DESC NULLS LAST, age DESC
