-- Tell listening workers that these queues have work. A hint only: workers also look on their own. Nothing in it has to
-- last, so its commit does not wait for the disk.
SELECT set_config('synchronous_commit', 'off', true), pg_notify(%(channel)s::text, queue)
FROM unnest(%(queues)s::text[]) AS given (queue)
