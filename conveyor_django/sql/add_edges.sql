-- Say which of the jobs that were added just now needs which.
INSERT INTO conveyor_dependency (job_id, needs_id, on_failure, resolved)
SELECT given.job, given.needs, given.on_failure, false
FROM unnest(%(jobs)s::bigint[], %(needs)s::bigint[], %(on_failures)s::text[]) AS given (job, needs, on_failure)
RETURNING id
