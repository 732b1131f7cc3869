-- Which backends hold a job's row: the one whose transaction stands in the row, `certain`; and for rows that several
-- share, where an id of its own stands for all of them, each that has locked rows of the table.
SELECT lock.pid, coalesce(activity.application_name, ''), coalesce(activity.state, ''),
       extract(epoch FROM coalesce(%(now)s::timestamptz, statement_timestamp()) - activity.xact_start)::float8,
       lock.locktype = 'transactionid' AS certain
FROM pg_locks AS lock
-- A prepared transaction has no process.
LEFT JOIN pg_stat_activity AS activity ON activity.pid = lock.pid
WHERE lock.granted AND lock.pid IS DISTINCT FROM pg_backend_pid()
  AND ((lock.locktype = 'transactionid' AND lock.mode = 'ExclusiveLock'
        AND lock.transactionid = (SELECT job.xmax FROM conveyor_job AS job WHERE job.id = %(id)s::bigint))
       OR (lock.locktype = 'relation' AND lock.mode IN ('RowShareLock', 'RowExclusiveLock')
           AND lock.relation = 'conveyor_job'::regclass
           AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())))
ORDER BY certain DESC, activity.xact_start
