-- Tell the worker that runs this job that it was cancelled. A hint only: the next heartbeat finds out too.
SELECT pg_notify(%(channel)s::text, (%(id)s::bigint)::text)
