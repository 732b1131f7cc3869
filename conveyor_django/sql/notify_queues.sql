-- Tell listening workers that these queues have work. A hint only: workers also look on their own.
SELECT pg_notify(%(channel)s::text, queue) FROM unnest(%(queues)s::text[]) AS given (queue)
