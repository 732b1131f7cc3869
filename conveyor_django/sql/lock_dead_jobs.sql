-- Lock the jobs of a workflow that may run again, its callbacks among them, and say which they are. Apart from
-- retry_workflow, which counts edges and has to see what was changed before these locks were granted. May wait.
SELECT job.id
FROM conveyor_job AS job
WHERE job.workflow_id = %(id)s::bigint AND job.state || '' IN ('failed', 'cancelled')
ORDER BY job.id
FOR NO KEY UPDATE
