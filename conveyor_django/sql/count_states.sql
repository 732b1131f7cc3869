-- How many jobs of each queue are in the states that have an index of their own, as far as the first `limit` jobs of a
-- state go. The order is that of the index, so that no plan reads the table. `parked` are the ready ones out of line.
SELECT 'running' AS state, part.queue, count(*) AS jobs
FROM (SELECT queue FROM conveyor_job WHERE state = 'running'
      ORDER BY lease_owner LIMIT %(limit)s::integer) AS part
GROUP BY part.queue
UNION ALL
SELECT 'scheduled', part.queue, count(*)
FROM (SELECT queue FROM conveyor_job WHERE state = 'scheduled'
      ORDER BY run_at LIMIT %(limit)s::integer) AS part
GROUP BY part.queue
UNION ALL
SELECT 'blocked', part.queue, count(*)
FROM (SELECT queue FROM conveyor_job WHERE state = 'blocked'
      ORDER BY state, id LIMIT %(limit)s::integer) AS part
GROUP BY part.queue
UNION ALL
SELECT 'failed', part.queue, count(*)
FROM (SELECT queue FROM conveyor_job WHERE state = 'failed'
      ORDER BY finished_at DESC LIMIT %(limit)s::integer) AS part
GROUP BY part.queue
UNION ALL
SELECT 'parked', part.queue, count(*)
FROM ((SELECT queue FROM conveyor_job WHERE state = 'ready' AND parked = 'key'
       ORDER BY queue, concurrency_key, priority DESC, ready_seq LIMIT %(limit)s::integer)
      UNION ALL
      (SELECT queue FROM conveyor_job WHERE state = 'ready' AND parked = 'task'
       ORDER BY task LIMIT %(limit)s::integer)) AS part
GROUP BY part.queue
