-- Have a workflow to oneself, to the end of the transaction: nobody adds to it or finishes it. May wait.
SELECT workflow.id
FROM conveyor_workflow AS workflow
WHERE workflow.id = %(id)s::bigint
FOR NO KEY UPDATE
