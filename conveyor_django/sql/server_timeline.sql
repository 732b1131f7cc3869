-- The server's timeline: another one means that a failover took place, and that commits may be lost.
SELECT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8)
