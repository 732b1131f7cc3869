-- The size of Conveyor's tables, and what VACUUM knows of their rows; all of it estimates but the bytes.
SELECT class.relname AS name, greatest(class.reltuples, 0)::bigint AS row_count, coalesce(stat.n_dead_tup, 0) AS dead_rows,
       pg_table_size(class.oid) AS table_bytes, pg_indexes_size(class.oid) AS index_bytes,
       greatest(stat.last_vacuum, stat.last_autovacuum) AS vacuumed_at
FROM pg_class AS class
LEFT JOIN pg_stat_all_tables AS stat ON stat.relid = class.oid
WHERE class.oid = ANY (ARRAY(SELECT to_regclass(given.name)::oid FROM unnest(%(names)s::text[]) AS given (name)))
ORDER BY class.relname
