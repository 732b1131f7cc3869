-- Make due jobs ready, oldest first; says which queues to wake.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- One scheduler's look is enough; the lock goes with the statement, so a frozen client cannot keep it.
turn AS MATERIALIZED (
    SELECT pg_try_advisory_xact_lock(%(lock_class)s::integer, %(lock_id)s::integer) AS mine
),
promoted AS (
    UPDATE conveyor_job
    SET state = 'ready', ready_seq = nextval('conveyor_ready_seq')
    WHERE id = ANY (ARRAY(
        SELECT due.id
        FROM conveyor_job AS due
        WHERE (SELECT mine FROM turn)
          AND due.state = 'scheduled' AND due.run_at <= (SELECT now FROM clock)
        ORDER BY due.run_at
        LIMIT %(limit)s::integer
        FOR NO KEY UPDATE SKIP LOCKED
    ))
    RETURNING queue
)
SELECT queue, count(*) AS jobs FROM promoted GROUP BY queue
