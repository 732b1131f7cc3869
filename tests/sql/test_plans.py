"""Plans on a big backlog: each statement keeps to its index, whatever the planner knows about the tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conveyor_django.db import Connection
from conveyor_django.sql import statement

from ..support.backlog import STATISTICS, Statistics, analyse, build_backlog, fill, mine
from ..support.connections import Connect, opened_connections, plain_connection
from ..support.factories import in_seconds
from ..support.plans import Plan, explain_again, explain_bound, explain_prepared, prepare
from ..support.samples import SAMPLES
from ..support.schema import create_schema, drop_schema, use_schema

READY, SCHEDULED, RUNNING = "conveyor_job_ready", "conveyor_job_scheduled", "conveyor_job_running"
PARKED_KEY, PARKED_TASK = "conveyor_job_parked_key", "conveyor_job_parked_task"
LINE_KEY = "conveyor_job_line_key"
WORKFLOW, WORKFLOW_OPEN = "conveyor_job_workflow", "conveyor_job_workflow_open"
FINISHED, KEY, PRIMARY = "conveyor_job_finished_at", "conveyor_job_key", "conveyor_job_pkey"

# By which indexes each statement may read the table of jobs.
INDEXES: dict[str, set[str]] = {
    # What runs is counted for a cap of a queue; what is parked of a key has its turn too.
    "claim_jobs": {READY, PRIMARY, RUNNING, PARKED_KEY},
    "claim_plain_jobs": {READY, PRIMARY},
    "unpark_jobs": {PARKED_KEY, LINE_KEY, PRIMARY},
    "unpark_tasks": {PARKED_TASK, PRIMARY},
    "list_parked_keys": {PARKED_KEY},
    "prune_permits": {PRIMARY},
    "succeed_jobs": {PRIMARY},
    "end_attempts": {PRIMARY},
    "renew_leases": {PRIMARY},
    "record_step": {PRIMARY},
    "hold_fence": {PRIMARY},
    "release_unknown": {RUNNING, PRIMARY},
    "rescue_jobs": {RUNNING, PRIMARY},
    "rescue_owner": {RUNNING, PRIMARY},
    "count_held": {RUNNING},
    "promote_jobs": {SCHEDULED, PRIMARY},
    "next_due": {SCHEDULED},
    "prune_jobs": {FINISHED, PRIMARY},
    "prune_chosen": {PRIMARY},
    "list_queues": {READY},
    "find_jobs_by_keys": {KEY},
    "cancel_job": {PRIMARY},
    "cancel_jobs": {PRIMARY},
    "replace_job": {PRIMARY},
    "requeue_jobs": {PRIMARY},
    "run_job_now": {PRIMARY},
    "enqueue_job": set(),
    "enqueue_jobs": set(),
    "list_dependants": {PRIMARY},
    "list_needed": {PRIMARY},
    "finish_workflows": {PRIMARY, WORKFLOW},
    "find_ended_workflows": {WORKFLOW_OPEN},
    "find_late_edges": {PRIMARY},
    "retry_workflow": {PRIMARY},
    "count_retried": {PRIMARY},
}
# Which statements may walk an index from its end: all that runs, and the head of an order.
WALKED = {
    "claim_jobs": {RUNNING}, "unpark_tasks": {PARKED_TASK}, "prune_permits": {"conveyor_permit_pkey"},
    "rescue_jobs": {RUNNING}, "next_due": {SCHEDULED}, "list_queues": {READY},
    "count_retried": {"conveyor_attempt_pkey"},
    "find_ended_workflows": {"conveyor_workflow_open"}, "find_late_edges": {"conveyor_dependency_open"},
}  # fmt: skip
# What also runs on a caller's connection, without pinned plans.
ON_DJANGO = (
    "enqueue_job", "enqueue_jobs", "find_jobs_by_keys", "succeed_jobs", "cancel_job", "replace_job", "requeue_jobs",
    "record_step", "hold_fence", "unpark_tasks", "cancel_jobs", "run_job_now",
)  # fmt: skip
SMALL = {"conveyor_pausedtask_pkey", "conveyor_pausedtask_task_602f27f7_like"}
BIG = {"conveyor_job", "conveyor_payload", "conveyor_ledger", "conveyor_attempt"}
EMPTY_ONCE = "backlog_empty_once"


def schema_of(statistics: Statistics) -> str:
    """Return the name of the schema that holds the backlog."""
    return f"backlog_{statistics}"


@pytest.fixture(scope="module")
def backlogs(django_db_setup: None) -> Iterator[None]:
    """Build a backlog for each kind of statistics."""
    with opened_connections() as connect:
        connection = connect()
        for statistics in STATISTICS:
            build_backlog(connection, schema_of(statistics), statistics)
        yield
        for statistics in STATISTICS:
            drop_schema(connection, schema_of(statistics))


@pytest.fixture(params=STATISTICS)
def dedicated(request: pytest.FixtureRequest, backlogs: None, connect: Connect) -> Connection:
    """A worker's connection that looks at a backlog."""
    connection = connect()
    use_schema(connection, schema_of(request.param))
    return connection


@pytest.fixture(params=STATISTICS)
def plain(request: pytest.FixtureRequest, backlogs: None) -> Iterator[Connection]:
    """A connection with the server's defaults, as Django has them, that looks at a backlog."""
    connection = plain_connection()
    use_schema(connection, schema_of(request.param))
    yield connection
    connection.close()


@pytest.fixture(scope="module", params=[False, True], ids=["never analysed", "analysed while empty"])
def early_bird(request: pytest.FixtureRequest, django_db_setup: None) -> Iterator[Connection]:
    """A worker's connection that made all its plans on empty tables, which then filled."""
    with opened_connections() as connect:
        connection = connect()
        connection.prepare_threshold = None
        create_schema(connection, EMPTY_ONCE)
        use_schema(connection, EMPTY_ONCE)
        if request.param:
            analyse(connection)
        for name in INDEXES:
            prepare(connection, name, statement(name))
            explain_again(connection, name, statement(name), SAMPLES[name])
        fill(connection, "none", share=10)
        yield connection
        drop_schema(connection, EMPTY_ONCE)


def params_of(name: str, connection: Connection, jobs: int = 3) -> dict[str, Any]:
    """Return the sample parameters, with so many running jobs of OWNER where it takes jobs."""
    given = dict(SAMPLES[name])
    if "versions" in given:
        lists = {key: value[:1] * jobs for key, value in given.items() if isinstance(value, list)}
        given |= lists | {"ids": mine(connection, jobs)}
    return given


def assert_kept_to_index(plan: Plan, name: str) -> None:
    """Fail unless the plan reads the big tables by index alone, jobs by the right ones, unsorted, in a range."""
    assert not plan.seq_scans() & BIG, plan
    assert plan.indexes_of("conveyor_job") <= INDEXES[name], plan
    assert plan.walked_indexes() - SMALL <= WALKED.get(name, set()), plan
    # The jobs of one owner are few.
    assert name == "release_unknown" or "conveyor_job" not in plan.sorted_tables(), plan


@pytest.mark.parametrize("name", INDEXES)
def test_on_a_dedicated_connection(name: str, dedicated: Connection) -> None:
    plan = explain_prepared(dedicated, statement(name), params_of(name, dedicated))
    assert_kept_to_index(plan, name)


@pytest.mark.parametrize("name", ON_DJANGO)
@pytest.mark.parametrize("jobs", [1, 3])
def test_on_django_s_connection(name: str, jobs: int, plain: Connection) -> None:
    plan = explain_bound(plain, statement(name), params_of(name, plain, jobs))
    assert_kept_to_index(plan, name)


@pytest.mark.parametrize("name", ON_DJANGO)
def test_on_django_s_connection_with_server_side_binding(name: str, plain: Connection) -> None:
    plan = explain_prepared(plain, statement(name), params_of(name, plain))
    assert_kept_to_index(plan, name)


@pytest.mark.parametrize("name", INDEXES)
def test_by_a_plan_that_was_made_when_the_tables_were_empty(name: str, early_bird: Connection) -> None:
    plan = explain_again(early_bird, name, statement(name), params_of(name, early_bird))
    assert_kept_to_index(plan, name)


# Pages per job: a few index levels and the heap for each look, the new version of the row, its index entries, the
# ledger or attempt row. A walk over the backlog, or over what runs, is thousands.
MANY = 100
PAGES_PER_JOB = {
    "succeed_jobs": 40, "end_attempts": 60, "renew_leases": 30, "rescue_jobs": 60, "rescue_owner": 40,
    "release_unknown": 40, "promote_jobs": 20, "prune_jobs": 20,
}  # fmt: skip


@pytest.mark.parametrize("name", PAGES_PER_JOB)
def test_pages_of_a_batch(name: str, dedicated: Connection) -> None:
    given = params_of(name, dedicated, MANY) | {"limit": MANY}
    if name == "rescue_jobs":
        given["now"] = in_seconds(3600)
    plan = explain_prepared(dedicated, statement(name), given, analyze=True)
    assert plan.buffers < MANY * PAGES_PER_JOB[name], plan


@pytest.mark.parametrize(
    "queues", [["q1"], ["q7"], ["empty", "q1"], [f"q{n}" for n in range(50, 0, -1)]], ids=lambda q: f"{len(q)}-{q[0]}"
)
def test_pages_of_a_claim(queues: list[str], dedicated: Connection) -> None:
    given = params_of("claim_jobs", dedicated) | {"queues": queues, "leases": [30.0] * len(queues), "limit": 32}
    plan = explain_prepared(dedicated, statement("claim_jobs"), given, analyze=True)
    assert plan.root["Actual Rows"] == 32
    assert plan.buffers < 32 * 25, plan
