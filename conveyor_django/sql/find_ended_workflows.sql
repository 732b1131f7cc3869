-- Workflows of which every job has ended, and that nobody has finished yet: who ended the last job died right after it.
SELECT workflow.id
FROM conveyor_workflow AS workflow
WHERE workflow.finished_at IS NULL
  -- A value, not an anti-join, which could walk all open jobs; in the order of their index, which no other has.
  AND (SELECT job.id FROM conveyor_job AS job
       WHERE job.workflow_id = workflow.id AND job.workflow_role IS NULL
         AND job.state IN ('blocked', 'ready', 'running', 'scheduled')
       ORDER BY job.state
       LIMIT 1) IS NULL
ORDER BY workflow.id
LIMIT %(limit)s::integer
