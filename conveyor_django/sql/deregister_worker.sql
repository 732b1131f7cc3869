-- Forget a worker process.
DELETE FROM conveyor_worker WHERE incarnation = %(incarnation)s::uuid
RETURNING host, pid
