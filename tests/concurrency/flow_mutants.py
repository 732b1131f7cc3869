"""The functions and statements of workflows with one guard broken each, and the scenarios that must fail with it."""

from __future__ import annotations

from importlib import import_module

from .mutants import Mutant, altered, without

MIGRATION = import_module("conveyor_django.migrations.0004_workflows")
RESOLVE = "conveyor_resolve_edges"

LOCK = "                FOR NO KEY UPDATE SKIP LOCKED\n"
UNRESOLVED = "edge.needs_id = ANY (parents) AND NOT edge.resolved\n                  AND NOT EXISTS"
ENDED = """
                  AND NOT EXISTS (
                      SELECT FROM conveyor_job AS parent
                      WHERE parent.id = edge.needs_id
                        AND parent.state || '' IN ('blocked', 'scheduled', 'ready', 'running'))
"""
FINISHED_TOO = "        WHERE unfinished.id = given.id\n"
UNFINISHED = "        WHERE unfinished.id = given.id AND unfinished.finished_at IS NULL\n"
IN_THE_SNAPSHOT = """(
        SELECT 'succeeded' WHERE NOT EXISTS (
            SELECT FROM conveyor_job AS job
            WHERE job.workflow_id = held.id AND job.workflow_role IS NULL
              AND job.state IN ('blocked', 'ready', 'running', 'scheduled')))"""
WHOLE = "    WHERE (SELECT job.id FROM conveyor_job AS job\n           WHERE job.workflow_id = ended.id"


def function(*changes: tuple[str, str]) -> str:
    """Return the function that resolves edges with each change made where it applies exactly once."""
    text: str = MIGRATION.RESOLVE_EDGES
    for old, new in changes:
        assert text.count(old) == 1, f"{RESOLVE} no longer has, once:\n{old}"
        text = text.replace(old, new)
    return text


MUTANTS: list[Mutant] = [
    Mutant(
        "edges resolved without a lock on the child", {RESOLVE: function((LOCK, ""))},
        ("parents_that_end_at_once", "resolvers_of_one_edge"),
    ),
    Mutant(
        "edges resolved with a wait for the child", {RESOLVE: function((LOCK, LOCK.replace(" SKIP LOCKED", "")))},
        ("parents_that_end_at_once", "resolvers_of_one_edge"),
    ),
    Mutant(
        "a child lowered by one, however many edges were resolved",
        {RESOLVE: function(("greatest(job.pending_dependencies - fate.edges, 0)",
                            "greatest(job.pending_dependencies - 1, 0)"))},
        ("several_edges_at_once",),
    ),
    Mutant(
        "edges counted that were resolved before",
        {RESOLVE: function((UNRESOLVED, UNRESOLVED.replace(" AND NOT edge.resolved", "")))},
        ("an_edge_that_is_resolved_already",),
    ),
    Mutant(
        "edges resolved whatever the parent does", {RESOLVE: function((ENDED, "\n"))}, ("a_parent_that_goes_on",),
    ),
    Mutant(
        "succeed_jobs without owner and version",
        {"succeed_jobs": without("succeed_jobs", "job.lease_owner = %(owner)s::uuid AND ",
                                 " AND job.lease_version = given.version")},
        ("a_zombie_parent",),
    ),
    Mutant(
        "finish_workflows that does not look whether it is finished",
        {"finish_workflows": altered("finish_workflows", (UNFINISHED, FINISHED_TOO))},
        ("finishers_at_once",),
    ),
    Mutant(
        "finish_workflows that waits for the workflow",
        {"finish_workflows": altered("finish_workflows", (
            UNFINISHED + "        FOR NO KEY UPDATE SKIP LOCKED", UNFINISHED + "        FOR NO KEY UPDATE"))},
        ("finishers_at_once",),
    ),
    Mutant(
        "finish_workflows that looks at jobs with the snapshot from before its lock",
        {"finish_workflows": altered("finish_workflows", ("conveyor_workflow_end(held.id)", IN_THE_SNAPSHOT))},
        ("finisher_reads_before_a_job_is_added",),
    ),
    Mutant(
        "finish_workflows without the callbacks that are locked",
        {"finish_workflows": altered("finish_workflows", (WHOLE, WHOLE.replace("WHERE (", "WHERE true OR (")))},
        ("a_callback_that_is_locked",),
    ),
]  # fmt: skip
