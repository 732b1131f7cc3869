-- Ask worker processes to claim nothing more and to end; each hears it at its next beat. Asking again changes nothing.
UPDATE conveyor_worker
SET drain_requested_at = coalesce(drain_requested_at, clock.now)
FROM (SELECT coalesce(%(now)s::timestamptz, statement_timestamp()) AS now) AS clock
WHERE incarnation = ANY (%(incarnations)s::uuid[])
RETURNING incarnation
