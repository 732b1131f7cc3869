-- Enqueue the jobs of an entry's ticks and say so in its row, both or neither (rule 14). No row comes back where it is
-- not for the caller to do: another scheduler has done it or is about to, or the entry was changed or switched off.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- The guard: what the caller saw, read anew under the row's lock (rule 1). `last_tick` only grows.
entry AS MATERIALIZED (
    SELECT cron.name, cron.overlap, cron.last_job_id
    FROM conveyor_cron AS cron
    WHERE cron.name = %(name)s::text AND cron.enabled
      AND cron.last_tick IS NOT DISTINCT FROM %(seen)s::timestamptz
      AND (cron.last_tick IS NULL OR cron.last_tick < %(newest)s::timestamptz)
    FOR NO KEY UPDATE SKIP LOCKED
),
-- Whether the job of the tick before has not ended; one that was pruned had.
turn AS MATERIALIZED (
    SELECT entry.name, entry.overlap = 'skip' AND EXISTS (
               SELECT FROM conveyor_job AS before
               WHERE before.id = entry.last_job_id
                 AND before.state || '' NOT IN ('succeeded', 'failed', 'cancelled')) AS overlaps
    FROM entry
),
given AS MATERIALIZED (
    SELECT nextval(pg_get_serial_sequence('conveyor_job', 'id')) AS id, input.idempotency_key, input.run_at,
           CASE WHEN input.run_at > clock.now THEN 'scheduled' ELSE 'ready' END AS state,
           CASE WHEN input.run_at > clock.now THEN NULL ELSE nextval('conveyor_ready_seq') END AS ready_seq,
           clock.now
    FROM turn
    CROSS JOIN clock
    CROSS JOIN unnest(%(idempotency_keys)s::text[], %(run_ats)s::timestamptz[]) AS input (idempotency_key, run_at)
    WHERE NOT turn.overlaps
),
job AS (
    INSERT INTO conveyor_job
        (id, queue, task, priority, state, run_at, ready_seq, max_attempts, idempotency_key, concurrency_key,
         created_at, attempt, lost_count, release_count, lease_version, pending_dependencies)
    SELECT id, %(queue)s::text, %(task)s::text, %(priority)s::smallint, state, run_at, ready_seq,
           %(max_attempts)s::integer, idempotency_key, %(concurrency_key)s::text, now, 0, 0, 0, 0, 0
    FROM given
    -- Whatever queue the job of the same tick is in: it is that tick's.
    ON CONFLICT DO NOTHING
    RETURNING id, state
),
payload AS (
    INSERT INTO conveyor_payload (job_id, args, kwargs)
    SELECT job.id, %(args)s::jsonb, %(kwargs)s::jsonb
    FROM job
),
-- Also where no job was to be made: such a tick is over, too.
ticked AS (
    UPDATE conveyor_cron AS cron
    SET last_tick = %(newest)s::timestamptz,
        last_job_id = coalesce((SELECT max(job.id) FROM job), cron.last_job_id)
    WHERE cron.name = ANY (ARRAY(SELECT turn.name FROM turn))
)
SELECT turn.overlaps, ARRAY(SELECT job.id FROM job ORDER BY job.id) AS ids,
       EXISTS (SELECT FROM job WHERE job.state = 'ready') AS ready
FROM turn
