-- Delete ended jobs that somebody has chosen, each if it is as it was seen, with payload, ledger, attempts and edges.
-- None goes that a job still waits for, or whose workflow is not finished: others of it may still ask for the results.
WITH permission AS MATERIALIZED (
    -- The ledger's trigger lets nothing else delete; gone with the transaction.
    SELECT set_config('conveyor.pruning', 'on', true) AS pruning
),
doomed AS MATERIALIZED (
    SELECT job.id
    FROM unnest(%(ids)s::bigint[], %(finished_ats)s::timestamptz[]) AS given (id, finished_at)
    CROSS JOIN LATERAL (
        SELECT ended.id
        FROM conveyor_job AS ended
        WHERE (SELECT pruning = 'on' FROM permission)
          -- `|| ''` and the comparison that no index serves keep the planner off the index of ended jobs.
          AND ended.id = given.id AND ended.state || '' IN ('succeeded', 'failed', 'cancelled')
          AND ended.finished_at IS NOT DISTINCT FROM given.finished_at
          AND coalesce((SELECT workflow.finished_at IS NOT NULL FROM conveyor_workflow AS workflow
                        WHERE workflow.id = ended.workflow_id), true)
          AND NOT EXISTS (
              SELECT FROM conveyor_dependency AS edge WHERE edge.needs_id = ended.id AND NOT edge.resolved)
        FOR UPDATE OF ended SKIP LOCKED
    ) AS job
),
payloads AS (DELETE FROM conveyor_payload WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
ledgers AS (DELETE FROM conveyor_ledger WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
attempts AS (DELETE FROM conveyor_attempt WHERE job_id = ANY (ARRAY(SELECT id FROM doomed))),
edges AS (DELETE FROM conveyor_dependency WHERE job_id = ANY (ARRAY(SELECT id FROM doomed)))
DELETE FROM conveyor_job WHERE id = ANY (ARRAY(SELECT id FROM doomed))
RETURNING id
