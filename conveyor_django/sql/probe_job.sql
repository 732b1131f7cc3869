-- Whether somebody holds a job's row, so that no claim, outcome or rescue gets it. Where nobody has touched it since it
-- was written, nothing is locked; else it is tried, and the caller rolls back at once.
WITH touched AS MATERIALIZED (
    SELECT job.id FROM conveyor_job AS job WHERE job.id = %(id)s::bigint AND job.xmax::text <> '0'
),
free AS MATERIALIZED (
    SELECT candidate.id
    FROM touched
    CROSS JOIN LATERAL (
        SELECT job.id FROM conveyor_job AS job WHERE job.id = touched.id FOR NO KEY UPDATE SKIP LOCKED
    ) AS candidate
)
SELECT EXISTS (SELECT FROM touched) AND NOT EXISTS (SELECT FROM free)
