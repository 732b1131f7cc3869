-- Finish those of the given workflows of which every job has ended: once, with the callbacks that apply released and
-- the others cancelled. Nothing is waited for; what is locked by somebody is finished by the next look.
WITH clock AS MATERIALIZED (
    SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now
),
-- The guard: whoever comes second finds it finished under the lock (rule 1).
held AS MATERIALIZED (
    SELECT workflow.id
    FROM unnest(%(ids)s::bigint[]) AS given (id)
    CROSS JOIN LATERAL (
        SELECT unfinished.id
        FROM conveyor_workflow AS unfinished
        WHERE unfinished.id = given.id AND unfinished.finished_at IS NULL
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS workflow
),
-- Nobody adds to a workflow whose row is locked; what was added before the lock, the function sees.
ended AS MATERIALIZED (
    SELECT looked.id, looked.how
    FROM (SELECT held.id, conveyor_workflow_end(held.id) AS how FROM held) AS looked
    WHERE looked.how IS NOT NULL
),
callback AS MATERIALIZED (
    SELECT ended.id AS workflow, job.id, job.later,
           job.workflow_role = 'on_completion'
               OR job.workflow_role = CASE ended.how WHEN 'succeeded' THEN 'on_success' ELSE 'on_failure' END AS applies
    FROM ended
    CROSS JOIN clock
    CROSS JOIN LATERAL (
        SELECT waiting.id, waiting.workflow_role, waiting.run_at > clock.now AS later
        FROM conveyor_job AS waiting
        WHERE waiting.workflow_id = ended.id AND waiting.workflow_role IS NOT NULL
          AND waiting.state || '' = 'blocked'
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS job
),
-- All of its callbacks or none: one that was skipped would have nobody to release it.
whole AS MATERIALIZED (
    SELECT ended.id
    FROM ended
    -- A value, not an anti-join, which could walk the jobs of all workflows.
    WHERE (SELECT job.id FROM conveyor_job AS job
           WHERE job.workflow_id = ended.id AND job.workflow_role IS NOT NULL AND job.state || '' = 'blocked'
             AND job.id <> ALL (ARRAY(SELECT callback.id FROM callback))
           LIMIT 1) IS NULL
),
finished AS (
    UPDATE conveyor_workflow AS workflow
    SET finished_at = (SELECT now FROM clock)
    WHERE workflow.id = ANY (ARRAY(SELECT whole.id FROM whole))
    RETURNING workflow.id
),
released AS (
    UPDATE conveyor_job AS job
    SET (state, pending_dependencies, ready_seq, finished_at) = (
        SELECT CASE WHEN NOT callback.applies THEN 'cancelled'
                    WHEN callback.later THEN 'scheduled' ELSE 'ready' END,
               0,
               CASE WHEN callback.applies AND NOT callback.later THEN nextval('conveyor_ready_seq') END,
               CASE WHEN NOT callback.applies THEN clock.now END
        FROM callback CROSS JOIN clock
        WHERE callback.id = job.id)
    WHERE job.id = ANY (ARRAY(
        SELECT callback.id FROM callback WHERE callback.workflow IN (SELECT whole.id FROM whole)))
    RETURNING job.workflow_id, job.queue, job.state
)
SELECT finished.id, released.queue, released.state
FROM finished
LEFT JOIN released ON released.workflow_id = finished.id
