-- The cron entries, with the database's clock, which decides what is due.
SELECT cron.name, cron.expression, cron.zone, cron.task, cron.args::text, cron.kwargs::text, cron.queue, cron.enabled,
       cron.declared, cron.missed, cron.max_missed, cron.overlap, cron.jitter_seconds,
       -- A row that was changed by hand may have an instant that Python cannot hold: it must not stop the others.
       CASE WHEN cron.last_tick NOT BETWEEN '0002-01-01 00:00+00'::timestamptz AND '9998-12-31 00:00+00'::timestamptz
            THEN cron.last_tick::text END AS unreadable_tick,
       CASE WHEN cron.last_tick BETWEEN '0002-01-01 00:00+00'::timestamptz AND '9998-12-31 00:00+00'::timestamptz
            THEN cron.last_tick END AS last_tick,
       coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
FROM conveyor_cron AS cron
ORDER BY cron.name
