-- How far vacuum is with each of Conveyor's tables: dead rows, how many of them call autovacuum, whether it may come,
-- and the seconds since any vacuum; null before the first.
SELECT tables.relname, tables.n_live_tup, tables.n_dead_tup,
       coalesce(own.threshold, current_setting('autovacuum_vacuum_threshold')::float8)
           + coalesce(own.scale, current_setting('autovacuum_vacuum_scale_factor')::float8)
           * greatest(class.reltuples, 0)::float8 AS trigger,
       coalesce(own.enabled, true) AS enabled,
       extract(epoch FROM coalesce(%(now)s::timestamptz, statement_timestamp())
               - greatest(tables.last_vacuum, tables.last_autovacuum))::float8 AS since
FROM pg_stat_user_tables AS tables
JOIN pg_class AS class ON class.oid = tables.relid
CROSS JOIN LATERAL (
    SELECT max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_threshold')::float8 AS threshold,
           max(option_value) FILTER (WHERE option_name = 'autovacuum_vacuum_scale_factor')::float8 AS scale,
           max(option_value) FILTER (WHERE option_name = 'autovacuum_enabled')::boolean AS enabled
    FROM pg_options_to_table(class.reloptions)
) AS own
WHERE starts_with(tables.relname, 'conveyor_')
ORDER BY tables.relname
