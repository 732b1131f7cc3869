-- Jobs that have ended, or are gone, and that somebody still waits for: their dependant's row was locked, or was not
-- committed yet, when they ended. `after` goes on behind the last one of the look before.
SELECT DISTINCT edge.needs_id
FROM (
    SELECT late.needs_id
    FROM conveyor_dependency AS late
    WHERE NOT late.resolved AND late.needs_id > %(after)s::bigint
      -- A value, not an anti-join, which could walk the table of jobs.
      AND coalesce((SELECT parent.state || '' NOT IN ('blocked', 'scheduled', 'ready', 'running')
                    FROM conveyor_job AS parent WHERE parent.id = late.needs_id), true)
    -- The order of the index of what is unresolved, which no other has.
    ORDER BY late.needs_id, late.job_id
    LIMIT %(limit)s::integer
) AS edge
