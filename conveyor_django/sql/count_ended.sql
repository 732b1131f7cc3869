-- What ended within a day, per queue and state: by minute in the last hour (`fine`), by hour before it. The newest `limit`
-- jobs are counted, and the newest `failures`, which are few among many successes: `counted_since` and
-- `failures_since` say how far back that reaches; null: to the beginning. `lately` is how many of a bucket ended in the
-- last quarter of an hour, and are among the newest `limit`, so that a queue's failures have the rest beside them.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
spans AS MATERIALIZED (
    SELECT now - interval '15 minutes' AS lately,
           date_bin('1 minute', now, 'epoch') - interval '59 minutes' AS minutes,
           date_bin('1 hour', now, 'epoch') - interval '23 hours' AS hours
    FROM clock
),
newest AS MATERIALIZED (
    SELECT job.queue, job.state, job.finished_at
    FROM conveyor_job AS job
    WHERE job.state IN ('succeeded', 'failed', 'cancelled') AND job.finished_at >= (SELECT hours FROM spans)
    ORDER BY job.finished_at DESC
    LIMIT %(limit)s::integer
),
failures AS MATERIALIZED (
    SELECT job.queue, job.finished_at
    FROM conveyor_job AS job
    WHERE job.state = 'failed' AND job.finished_at >= (SELECT hours FROM spans)
    ORDER BY job.finished_at DESC
    LIMIT %(failures)s::integer
),
ended AS (
    SELECT queue, state, finished_at FROM newest WHERE state <> 'failed'
    UNION ALL
    SELECT queue, 'failed', finished_at FROM failures
),
reach AS (
    SELECT (SELECT CASE WHEN count(*) = %(limit)s::integer THEN min(finished_at) END FROM newest) AS counted_since,
           (SELECT CASE WHEN count(*) = %(failures)s::integer THEN min(finished_at) END FROM failures) AS failures_since
)
-- Instants as seconds: a client makes integers of a thousand rows in no time.
SELECT ended.queue, ended.state, bucket.fine, extract(epoch FROM bucket.start)::bigint AS start, count(*) AS jobs,
       ceil(extract(epoch FROM reach.counted_since))::bigint AS counted_since,
       ceil(extract(epoch FROM reach.failures_since))::bigint AS failures_since,
       count(*) FILTER (WHERE ended.finished_at >= greatest(spans.lately, reach.counted_since)) AS lately
FROM ended
CROSS JOIN reach
CROSS JOIN spans
CROSS JOIN LATERAL (
    SELECT ended.finished_at >= spans.minutes AS fine,
           date_bin(CASE WHEN ended.finished_at >= spans.minutes THEN interval '1 minute' ELSE interval '1 hour' END,
                    ended.finished_at, 'epoch') AS start
) AS bucket
GROUP BY ended.queue, ended.state, bucket.fine, bucket.start, reach.counted_since, reach.failures_since
