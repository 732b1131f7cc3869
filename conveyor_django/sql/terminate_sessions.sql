-- End the sessions of a dead owner, so that nothing it has in flight can still commit (rule 7).
SELECT pg_terminate_backend(activity.pid)
FROM pg_stat_activity AS activity
WHERE activity.datname = current_database() AND activity.pid <> pg_backend_pid()
  AND starts_with(activity.application_name, %(application_name)s::text)
