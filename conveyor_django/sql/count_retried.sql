-- Runs within a day that failed or were lost and did not end their job, which is tried again: per queue, in the buckets
-- of count_ended. There is no index by time, and none is needed: ids are drawn as runs end. The last hour's ids, and
-- those of the day before it, are read one by one if there are no more than `limit`; else one of every `step` of them,
-- always the same ones, which stands for all of these.
WITH RECURSIVE clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
spans AS MATERIALIZED (
    SELECT date_bin('1 minute', now, 'epoch') - interval '59 minutes' AS minutes,
           date_bin('1 hour', now, 'epoch') - interval '23 hours' AS hours
    FROM clock
),
newest AS MATERIALIZED (
    SELECT (SELECT id FROM conveyor_attempt ORDER BY id LIMIT 1) AS first,
           (SELECT id FROM conveyor_attempt ORDER BY id DESC LIMIT 1) AS last
),
-- Where the hour and the day begin: halved until one id is left. A statement that began earlier may draw a later id,
-- for as long as it takes: hence a minute more.
search (since, low, high) AS (
    SELECT wanted.since - interval '1 minute', newest.first, newest.last + 1
    FROM newest
    CROSS JOIN spans
    CROSS JOIN LATERAL (VALUES (spans.minutes), (spans.hours)) AS wanted (since)
    WHERE newest.last IS NOT NULL
    UNION ALL
    SELECT search.since,
           CASE WHEN run.is_within THEN search.low ELSE run.id + 1 END,
           CASE WHEN run.is_within THEN half.id ELSE search.high END
    FROM search
    CROSS JOIN LATERAL (SELECT search.low + (search.high - search.low) / 2 AS id) AS half
    CROSS JOIN LATERAL (
        SELECT attempt.id, attempt.finished_at >= search.since AS is_within
        FROM conveyor_attempt AS attempt
        WHERE attempt.id >= half.id
        ORDER BY attempt.id
        LIMIT 1
    ) AS run
    WHERE search.low < search.high
),
parts AS MATERIALIZED (
    SELECT search.low AS first, lead(search.low, 1, newest.last + 1) OVER (ORDER BY search.since) AS after
    FROM search CROSS JOIN newest
    WHERE search.low >= search.high
),
read AS MATERIALIZED (
    -- A power of two: it is the same for long, while the part grows.
    SELECT parts.first, parts.after, few.runs <= %(limit)s::integer AS is_few,
           (2 ^ ceil(log(2, greatest(1, (parts.after - parts.first) / %(limit)s::numeric))))::bigint AS step
    FROM parts
    CROSS JOIN LATERAL (
        SELECT count(*) AS runs
        FROM (
            SELECT FROM conveyor_attempt AS attempt
            WHERE attempt.id >= parts.first AND attempt.id < parts.after
            ORDER BY attempt.id
            LIMIT %(limit)s::integer + 1
        ) AS first_ones
    ) AS few
),
drawn AS MATERIALIZED (
    -- However far their ids lie apart.
    SELECT attempt.id, 1 AS step
    FROM read
    CROSS JOIN LATERAL (
        SELECT id FROM conveyor_attempt WHERE id >= read.first AND id < read.after ORDER BY id LIMIT %(limit)s::integer
    ) AS attempt
    WHERE read.is_few
    UNION ALL
    -- By a hash: what comes at every tenth place must not be all that is seen, or nothing.
    SELECT place.id, read.step
    FROM read
    CROSS JOIN generate_series(read.first / read.step, read.after / read.step) AS number
    CROSS JOIN LATERAL (
        SELECT number * read.step + (hashint8(number)::bigint + 2147483648) %% read.step AS id
    ) AS place
    WHERE NOT read.is_few AND place.id >= read.first AND place.id < read.after
),
sampled AS MATERIALIZED (
    SELECT job.queue, run.finished_at, drawn.step
    FROM drawn
    -- LIMIT keeps each of these a probe; without it, a plan may read whole tables.
    CROSS JOIN LATERAL (
        SELECT attempt.job_id, attempt.finished_at
        FROM conveyor_attempt AS attempt
        WHERE attempt.id = drawn.id AND attempt.verb IN ('retry', 'fail', 'rescue')
        LIMIT 1
    ) AS run
    CROSS JOIN LATERAL (
        SELECT job.queue, job.finished_at FROM conveyor_job AS job WHERE job.id = run.job_id LIMIT 1
    ) AS job
    WHERE job.finished_at IS DISTINCT FROM run.finished_at
)
SELECT sampled.queue, bucket.fine, extract(epoch FROM bucket.start)::bigint AS start, sum(sampled.step)::bigint AS runs,
       max(sampled.step) = 1 AS exact
FROM sampled
CROSS JOIN spans
CROSS JOIN LATERAL (
    SELECT sampled.finished_at >= spans.minutes AS fine,
           date_bin(CASE WHEN sampled.finished_at >= spans.minutes THEN interval '1 minute' ELSE interval '1 hour' END,
                    sampled.finished_at, 'epoch') AS start
) AS bucket
WHERE sampled.finished_at >= spans.hours
GROUP BY sampled.queue, bucket.fine, bucket.start
