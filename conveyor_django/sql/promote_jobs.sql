-- Make due jobs ready, oldest first; says which queues to wake.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- One scheduler's look is enough; the lock goes with the statement, so a frozen client cannot keep it.
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, %(lock_id)s::integer) AS mine
),
-- The numbers are drawn here: the update below goes by id, the order of work must go by run_at.
due AS MATERIALIZED (
    SELECT array_agg(oldest.id) AS ids, array_agg(nextval('conveyor_ready_seq')) AS ready_seqs
    FROM (
        SELECT job.id
        FROM conveyor_job AS job
        WHERE (SELECT mine FROM turn)
          AND job.state = 'scheduled' AND job.run_at <= (SELECT now FROM clock)
        ORDER BY job.run_at
        LIMIT %(limit)s::integer
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS oldest
),
promoted AS (
    UPDATE conveyor_job AS job
    SET state = 'ready', ready_seq = (SELECT due.ready_seqs[array_position(due.ids, job.id)] FROM due)
    WHERE job.id = ANY ((SELECT due.ids FROM due)::bigint[])
    RETURNING job.queue
)
SELECT queue, count(*) AS jobs FROM promoted GROUP BY queue
