-- Conveyor's own sessions on this database, each with the seconds since its last statement began or ended: null where
-- this role may not see that of another role's session.
SELECT activity.pid, activity.application_name,
       extract(epoch FROM coalesce(%(now)s::timestamptz, statement_timestamp()) - activity.state_change)::float8
FROM pg_stat_activity AS activity
WHERE activity.datname = current_database() AND starts_with(activity.application_name, 'conveyor')
ORDER BY activity.pid
