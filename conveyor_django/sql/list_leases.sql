-- The queues that have a lease of their own, in seconds.
SELECT name, lease_seconds FROM conveyor_queue WHERE lease_seconds IS NOT NULL
