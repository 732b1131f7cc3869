-- Write the entries that stand in the code, as they stand there; `enabled` is the user's, and stays. An entry that is
-- busy (locked by somebody, or inserted this very moment) is left to the next look.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    SELECT *
    FROM unnest(
        %(names)s::text[], %(expressions)s::text[], %(zones)s::text[], %(tasks)s::text[], %(args)s::jsonb[],
        %(kwargs)s::jsonb[], %(queues)s::text[], %(missed)s::text[], %(max_missed)s::integer[],
        %(overlaps)s::text[], %(jitters)s::float8[]
    ) AS input (name, expression, zone, task, args, kwargs, queue, missed, max_missed, overlap, jitter)
),
inserted AS (
    INSERT INTO conveyor_cron
        (name, expression, zone, task, args, kwargs, queue, missed, max_missed, overlap, jitter_seconds,
         enabled, declared, created_at)
    SELECT given.*, true, true, clock.now
    FROM given CROSS JOIN clock
    -- In the order of the index, so that two of these cannot deadlock.
    ORDER BY given.name
    ON CONFLICT (name) DO NOTHING
    RETURNING name
),
known AS MATERIALIZED (
    SELECT cron.name,
           (cron.expression, cron.zone, cron.task, cron.args, cron.kwargs, cron.queue, cron.missed, cron.max_missed,
            cron.overlap, cron.jitter_seconds, cron.declared)
           IS NOT DISTINCT FROM
           (given.expression, given.zone, given.task, given.args, given.kwargs, given.queue, given.missed,
            given.max_missed, given.overlap, given.jitter, true) AS same
    FROM given
    CROSS JOIN LATERAL (SELECT * FROM conveyor_cron WHERE name = given.name LIMIT 1) AS cron
),
held AS MATERIALIZED (
    SELECT picked.*
    FROM known
    CROSS JOIN LATERAL (
        SELECT cron.name FROM conveyor_cron AS cron WHERE cron.name = known.name FOR NO KEY UPDATE SKIP LOCKED
    ) AS picked
    WHERE NOT known.same
),
changed AS (
    UPDATE conveyor_cron AS cron
    SET (expression, zone, task, args, kwargs, queue, missed, max_missed, overlap, jitter_seconds, declared, last_tick) = (
            SELECT given.expression, given.zone, given.task, given.args, given.kwargs, given.queue, given.missed,
                   given.max_missed, given.overlap, given.jitter, true,
                   -- Nobody has missed what another schedule would have had in the past.
                   CASE WHEN (cron.expression, cron.zone) IS DISTINCT FROM (given.expression, given.zone)
                        THEN greatest(cron.last_tick, clock.now) ELSE cron.last_tick END
            FROM given CROSS JOIN clock
            WHERE given.name = cron.name)
    WHERE cron.name = ANY (ARRAY(SELECT held.name FROM held))
    RETURNING cron.name
)
SELECT given.name,
       CASE WHEN inserted.name IS NOT NULL THEN 'inserted'
            WHEN changed.name IS NOT NULL THEN 'changed'
            WHEN known.same THEN 'same'
            ELSE 'busy' END
FROM given
LEFT JOIN inserted ON inserted.name = given.name
LEFT JOIN changed ON changed.name = given.name
LEFT JOIN known ON known.name = given.name
ORDER BY given.name
