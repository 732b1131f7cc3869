"""The release of dependants: a trigger that resolves edges in the statement that ends the job needed (rule 10)."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar

from django.db import migrations

OnPostgreSQL = import_module("conveyor_django.migrations.0002_storage").OnPostgreSQL

# The one place where edges are resolved and counted: for the trigger, and for the sweep behind it. It takes jobs that
# have ended and answers with the dependants whose count fell, as they are now. Its plans are pinned, as on the workers'
# own connections: it runs on any.
RESOLVE_EDGES = """
CREATE FUNCTION conveyor_resolve_edges(parents bigint[], ended_at timestamptz)
RETURNS TABLE (child bigint, child_queue text, child_state text) LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
DECLARE
    children bigint[];
    cancelled bigint[];
BEGIN
    -- Level by level down a cascade of cancelled dependants; what lies deeper is left to the sweep.
    FOR level IN 1..100 LOOP
        -- Locked before anything is counted, so that two parents that end at once lower their child one after the
        -- other. Never waited for: who holds the row may wait for a row of this transaction. What is skipped here
        -- stays unresolved, and the sweep finds it.
        children := ARRAY(
            SELECT locked.id
            FROM (
                SELECT DISTINCT edge.job_id
                FROM conveyor_dependency AS edge
                WHERE edge.needs_id = ANY (parents) AND NOT edge.resolved
                ORDER BY edge.job_id
            ) AS waiting
            CROSS JOIN LATERAL (
                SELECT job.id FROM conveyor_job AS job
                WHERE job.id = waiting.job_id
                FOR NO KEY UPDATE SKIP LOCKED
            ) AS locked);
        EXIT WHEN cardinality(children) = 0;
        cancelled := '{}';
        -- A statement of its own: its snapshot is younger than the locks.
        FOR child, child_queue, child_state IN
            WITH resolved AS (
                UPDATE conveyor_dependency AS edge
                SET resolved = true
                WHERE edge.job_id = ANY (children) AND edge.needs_id = ANY (parents) AND NOT edge.resolved
                  AND NOT EXISTS (
                      SELECT FROM conveyor_job AS parent
                      WHERE parent.id = edge.needs_id
                        AND parent.state || '' IN ('blocked', 'scheduled', 'ready', 'running'))
                RETURNING edge.job_id, edge.on_failure = 'cancel' AND NOT EXISTS (
                    SELECT FROM conveyor_job AS parent
                    WHERE parent.id = edge.needs_id AND parent.state || '' = 'succeeded') AS cancels
            ),
            fate AS (
                SELECT resolved.job_id, count(*) AS edges, bool_or(resolved.cancels) AS cancels
                FROM resolved
                GROUP BY resolved.job_id
            )
            UPDATE conveyor_job AS job
            SET (state, pending_dependencies, ready_seq, finished_at) = (
                SELECT next.state,
                       greatest(job.pending_dependencies - fate.edges, 0),
                       CASE WHEN next.state = 'ready' AND job.state = 'blocked' THEN nextval('conveyor_ready_seq')
                            ELSE job.ready_seq END,
                       CASE WHEN next.state = 'cancelled' AND job.state = 'blocked' THEN ended_at
                            ELSE job.finished_at END
                FROM fate
                CROSS JOIN LATERAL (
                    -- One that was cancelled, or put back by hand, is only counted.
                    SELECT CASE WHEN job.state <> 'blocked' THEN job.state
                                WHEN fate.cancels THEN 'cancelled'
                                WHEN job.pending_dependencies > fate.edges THEN 'blocked'
                                WHEN job.run_at > ended_at THEN 'scheduled'
                                ELSE 'ready' END AS state
                ) AS next
                WHERE fate.job_id = job.id)
            WHERE job.id = ANY (ARRAY(SELECT fate.job_id FROM fate))
            RETURNING job.id, job.queue, job.state
        LOOP
            IF child_state = 'cancelled' THEN
                cancelled := cancelled || child;
            END IF;
            RETURN NEXT;
        END LOOP;
        EXIT WHEN cardinality(cancelled) = 0;
        parents := cancelled;
    END LOOP;
END
$body$
"""

RELEASE_DEPENDANTS = """
CREATE FUNCTION conveyor_release_dependants() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    -- Deeper, this is a dependant that was cancelled just now: whoever did it goes on with its own dependants.
    IF pg_trigger_depth() = 1 THEN
        PERFORM FROM conveyor_resolve_edges(ARRAY[NEW.id], NEW.finished_at);
    END IF;
    RETURN NULL;
END
$body$
"""
RELEASE_TRIGGER = """
CREATE TRIGGER conveyor_job_release_dependants AFTER UPDATE OF state ON conveyor_job
    FOR EACH ROW WHEN (
        NEW.workflow_id IS NOT NULL
        AND NEW.state IN ('succeeded', 'failed', 'cancelled')
        AND OLD.state NOT IN ('succeeded', 'failed', 'cancelled')
    ) EXECUTE FUNCTION conveyor_release_dependants()
"""

# How a workflow ended, or null while one of its jobs has not. A function, since finish_workflows has to look after it
# has locked the workflow, with a snapshot that is younger than the lock.
WORKFLOW_END = """
CREATE FUNCTION conveyor_workflow_end(given bigint) RETURNS text LANGUAGE plpgsql
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $body$
BEGIN
    -- In the order of the index of open jobs, which no other has: that of all jobs of the workflow is longer.
    PERFORM FROM conveyor_job AS job
    WHERE job.workflow_id = given AND job.workflow_role IS NULL
      AND job.state IN ('blocked', 'ready', 'running', 'scheduled')
    ORDER BY job.state
    LIMIT 1;
    IF FOUND THEN
        RETURN NULL;
    END IF;
    IF EXISTS (
        SELECT FROM conveyor_job AS job
        WHERE job.workflow_id = given AND job.workflow_role IS NULL AND job.state || '' IN ('failed', 'cancelled')
    ) THEN
        RETURN 'failed';
    END IF;
    RETURN 'succeeded';
END
$body$
"""


class Migration(migrations.Migration):
    """Triggers and functions of workflows."""

    dependencies: ClassVar = [("conveyor", "0003_semantics")]

    operations: ClassVar = [
        OnPostgreSQL(RESOLVE_EDGES, "DROP FUNCTION conveyor_resolve_edges"),
        OnPostgreSQL(RELEASE_DEPENDANTS, "DROP FUNCTION conveyor_release_dependants"),
        OnPostgreSQL(RELEASE_TRIGGER, "DROP TRIGGER conveyor_job_release_dependants ON conveyor_job"),
        OnPostgreSQL(WORKFLOW_END, "DROP FUNCTION conveyor_workflow_end"),
    ]
