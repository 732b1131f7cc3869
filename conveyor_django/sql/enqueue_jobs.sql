-- Accept many jobs; `place` is the caller's number of each. A place that does not come back had its key taken.
-- Ids are drawn before the insert, which is the only way to tie a returned row to its place and its payload. An array
-- that is shorter than that of the queues leaves the rest at their defaults.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
given AS MATERIALIZED (
    -- In a subquery of its own the sequence is looked up once; by itself, for each row.
    SELECT nextval((SELECT pg_get_serial_sequence('conveyor_job', 'id')::regclass)) AS id,
           CASE WHEN input.pending > 0 THEN 'blocked'
                WHEN input.run_at > clock.now THEN 'scheduled' ELSE 'ready' END AS state,
           CASE WHEN input.pending > 0 OR input.run_at > clock.now THEN NULL
                ELSE coalesce(input.seq, nextval('conveyor_ready_seq')) END AS ready_seq,
           clock.now, input.*
    FROM clock
    CROSS JOIN unnest(
        %(queues)s::text[], %(tasks)s::text[], %(priorities)s::smallint[], %(run_ats)s::timestamptz[],
        %(max_attempts)s::integer[], %(idempotency_keys)s::text[], %(args)s::jsonb[], %(kwargs)s::jsonb[],
        %(traceparents)s::text[], %(tracestates)s::text[], %(concurrency_keys)s::text[], %(workflow_ids)s::bigint[],
        %(workflow_roles)s::text[], %(pendings)s::integer[], %(names)s::text[], %(ready_seqs)s::bigint[]
    ) WITH ORDINALITY AS input
        (queue, task, priority, run_at, max_attempts, idempotency_key, args, kwargs, traceparent, tracestate,
         concurrency_key, workflow_id, workflow_role, pending, name, seq, place)
),
job AS (
    INSERT INTO conveyor_job
        (id, queue, task, priority, state, run_at, ready_seq, max_attempts, idempotency_key, created_at,
         attempt, lost_count, release_count, lease_version, pending_dependencies, concurrency_key, workflow_id,
         workflow_role)
    SELECT id, queue, task, coalesce(priority, 0), state, coalesce(run_at, now), ready_seq, max_attempts,
           idempotency_key, now, 0, 0, 0, 0, coalesce(pending, 0), concurrency_key, workflow_id, workflow_role
    FROM given
    -- In key order, so that two bulk enqueues of the same keys cannot deadlock; in that of the code points, which is
    -- Python's too: it sorts what goes into several statements.
    ORDER BY queue COLLATE "C", idempotency_key COLLATE "C", place
    ON CONFLICT (queue, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
    RETURNING id, created_at, state
),
payload AS (
    INSERT INTO conveyor_payload (job_id, args, kwargs, traceparent, tracestate, name)
    SELECT given.id, given.args, coalesce(given.kwargs, '{}'), given.traceparent, given.tracestate, given.name
    FROM given
    WHERE given.id IN (SELECT id FROM job)
)
-- One row of arrays: a row for each job takes the reader longer than the inserts take the server.
SELECT min(job.created_at), array_agg(given.place), array_agg(job.id), array_agg(job.state)
FROM job JOIN given USING (id)
