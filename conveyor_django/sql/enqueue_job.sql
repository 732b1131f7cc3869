-- Accept one job. No row comes back when its key is taken: the caller then reads that job in a statement of
-- its own, since this one's snapshot may be older than the other's commit (rule 9).
WITH job AS (
    INSERT INTO conveyor_job
        (queue, task, priority, state, run_at, ready_seq, max_attempts, idempotency_key, concurrency_key, created_at,
         attempt, lost_count, release_count, lease_version, pending_dependencies)
    SELECT %(queue)s::text, %(task)s::text, %(priority)s::smallint,
           CASE WHEN due.later THEN 'scheduled' ELSE 'ready' END,
           coalesce(%(run_at)s::timestamptz, clock.now),
           CASE WHEN due.later THEN NULL ELSE nextval('conveyor_ready_seq') END,
           %(max_attempts)s::integer, %(idempotency_key)s::text, %(concurrency_key)s::text, clock.now,
           0, 0, 0, 0, 0
    FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now) AS clock
    CROSS JOIN LATERAL (SELECT coalesce(%(run_at)s::timestamptz > clock.now, false) AS later) AS due
    ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id, created_at, state
),
payload AS (
    INSERT INTO conveyor_payload (job_id, args, kwargs, traceparent, tracestate)
    SELECT job.id, %(args)s::jsonb, %(kwargs)s::jsonb, %(traceparent)s::text, %(tracestate)s::text
    FROM job
)
SELECT id, created_at, state FROM job
