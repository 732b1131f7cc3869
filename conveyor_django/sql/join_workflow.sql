-- Keep a workflow from being finished, cancelled or run again while the caller adds to it, to the end of the
-- transaction; several may add at once. Waits for whoever does one of those now, and sees what came of it (rule 1).
SELECT workflow.finished_at
FROM conveyor_workflow AS workflow
WHERE workflow.id = %(id)s::bigint
FOR SHARE
