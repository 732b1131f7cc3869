-- Seconds until the next scheduled job is due (negative when overdue); null when none waits.
SELECT extract(epoch FROM due.run_at - coalesce(%(now)s::timestamptz, statement_timestamp()))::float8
FROM conveyor_job AS due
WHERE due.state = 'scheduled'
ORDER BY due.run_at
LIMIT 1
