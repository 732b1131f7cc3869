-- Resolve the edges to jobs that have ended, where the statement that ended them could not, and say what became of the
-- dependants. The function is the one that the trigger calls; ids of jobs that have not ended are harmless.
SELECT child, child_queue, child_state
FROM conveyor_resolve_edges(%(parents)s::bigint[], coalesce(%(now)s::timestamptz, statement_timestamp()))
