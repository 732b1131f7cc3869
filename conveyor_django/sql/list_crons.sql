-- The cron entries, with the database's clock, which decides what is due.
SELECT cron.name, cron.expression, cron.zone, cron.task, cron.args::text, cron.kwargs::text, cron.queue, cron.enabled,
       cron.declared, cron.missed, cron.max_missed, cron.overlap, cron.jitter_seconds, cron.last_tick,
       coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
FROM conveyor_cron AS cron
ORDER BY cron.name
