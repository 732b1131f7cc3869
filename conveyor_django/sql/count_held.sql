-- How many jobs an owner still holds, rows that a rescue had to skip because they were locked included.
SELECT count(*) FROM conveyor_job WHERE state = 'running' AND lease_owner = %(owner)s::uuid
