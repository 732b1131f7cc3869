-- What runs, by owner: the `shown` runs of each that were claimed longest ago, and how many it has in all; counted as far
-- as the first `limit` go.
SELECT run.lease_owner, run.held, run.id, run.task, run.queue, run.attempt + run.lost_count AS number, run.claimed_at,
       run.lease_expires_at
FROM (
    SELECT job.*, count(*) OVER (PARTITION BY job.lease_owner) AS held,
           row_number() OVER (PARTITION BY job.lease_owner ORDER BY job.claimed_at, job.id) AS place
    FROM (SELECT running.lease_owner, running.id, running.task, running.queue, running.attempt, running.lost_count,
                 running.claimed_at, running.lease_expires_at
          FROM conveyor_job AS running
          WHERE running.state = 'running'
          ORDER BY running.lease_owner
          LIMIT %(limit)s::integer) AS job
) AS run
WHERE run.place <= %(shown)s::integer
ORDER BY run.lease_owner, run.place
