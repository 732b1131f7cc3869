-- Keep a run's lease its own until the caller's transaction ends: one row, or none where the lease is lost (rule 8).
SELECT job.id
FROM conveyor_job AS job
-- `|| ''` keeps the planner off the index of running jobs, which old statistics make look empty.
WHERE job.id = %(id)s::bigint AND job.state || '' = 'running'
  AND job.lease_owner = %(owner)s::uuid AND job.lease_version = %(version)s::bigint
-- A locking select of its own: as a predicate of another statement it would not be read again after a wait. It waits
-- for whoever has the row: it is one row, in the caller's own transaction.
FOR SHARE
