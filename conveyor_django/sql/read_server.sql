-- What the server is, and how much of what it has only once is used up.
SELECT pg_is_in_recovery(), current_setting('autovacuum')::boolean, current_setting('track_activities')::boolean,
       age(own.datfrozenxid), mxid_age(own.datminmxid), pg_notification_queue_usage(),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
       current_setting('synchronous_commit'), current_setting('fsync')::boolean
FROM pg_database AS own
WHERE own.datname = current_database()
