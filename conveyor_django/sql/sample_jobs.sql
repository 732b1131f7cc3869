-- A sample of the table, about `pages` of its pages and always the same ones: how many jobs of each queue and state are
-- on them, those that ended within a day by bucket, as count_ended has them; and the share of the table that it is.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
spans AS MATERIALIZED (
    SELECT date_bin('1 minute', now, 'epoch') - interval '59 minutes' AS minutes,
           date_bin('1 hour', now, 'epoch') - interval '23 hours' AS hours
    FROM clock
),
share AS MATERIALIZED (
    SELECT least(1, %(pages)s::float8 * current_setting('block_size')::float8
                    / greatest(1, pg_relation_size('conveyor_job'))) AS share
)
SELECT job.queue,
       CASE WHEN job.parked IS NULL THEN job.state ELSE 'parked' END AS state,
       bucket.fine, extract(epoch FROM bucket.start)::bigint AS start, count(*) AS jobs, share.share
FROM conveyor_job AS job TABLESAMPLE SYSTEM (100 * (SELECT share FROM share)) REPEATABLE (1)
CROSS JOIN spans
CROSS JOIN share
CROSS JOIN LATERAL (
    SELECT job.finished_at >= spans.minutes AS fine,
           CASE WHEN job.finished_at >= spans.minutes THEN date_bin('1 minute', job.finished_at, 'epoch')
                WHEN job.finished_at >= spans.hours THEN date_bin('1 hour', job.finished_at, 'epoch') END AS start
) AS bucket
GROUP BY 1, 2, bucket.fine, bucket.start, share.share
