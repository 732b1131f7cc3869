-- Replication slots that nobody reads, with the bytes of WAL that the server keeps for them.
SELECT slot.slot_name::text,
       pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
                       slot.restart_lsn)::bigint AS kept
FROM pg_replication_slots AS slot
WHERE NOT slot.active AND slot.restart_lsn IS NOT NULL
ORDER BY slot.slot_name
