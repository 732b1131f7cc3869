-- Make the places of caps that have too few; one that somebody else makes at the same time is left to them.
INSERT INTO conveyor_permit (queue, key, number, job_id, lease_version, taken_at)
SELECT given.queue, given.key, place.number, 0, 0, coalesce(%(now)s::timestamptz, statement_timestamp())
FROM unnest(%(queues)s::text[], %(keys)s::text[], %(caps)s::integer[]) AS given (queue, key, cap)
CROSS JOIN LATERAL generate_series(1, given.cap) AS place (number)
-- In the order of the index, so that two of these cannot deadlock.
ORDER BY given.queue, given.key, place.number
ON CONFLICT (queue, key, number) DO NOTHING
RETURNING id
