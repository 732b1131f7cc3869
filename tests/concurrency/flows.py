"""What must hold of workflows whoever comes first, told once for the code as it is and for broken code.

As `scenarios.py`, on tables that have the trigger; `flow_mutants.py` names the scenarios that catch each mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conveyor_django.db import Connection
from conveyor_django.managers.base import Row
from conveyor_django.managers.workflows import Edge, WorkflowManager
from conveyor_django.outcomes import Answer, Claimed, Fail
from conveyor_django.sql import statement
from conveyor_django.states import OnFailure, WorkflowRole

from ..support.factories import new_job
from ..support.races import GATE, A, B, Race, gated

WON, LOST = Answer.WON, Answer.LOST


class AlteredWorkflows(WorkflowManager):
    """The manager of workflows with some statements replaced by texts of their own."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        super().__init__()
        self.texts = dict(texts)

    def rows(self, name: str, params: dict[str, Any], on: Any = None) -> list[Row]:
        """Run the text given for `name`, or the statement itself."""
        if name not in self.texts:
            return super().rows(name, params, on)
        rows: list[Row] = on.execute(self.texts[name], params).fetchall()
        return rows


@dataclass
class Flow(Race):
    """A race about one workflow."""

    texts: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.workflows = AlteredWorkflows(self.texts)
        self.workflow = self.workflows.add_workflow("race", on=self.main)

    def add(
        self, *parents: int, on_failure: OnFailure = OnFailure.CANCEL, role: WorkflowRole | None = None,
        on: Connection | None = None,
    ) -> int:  # fmt: skip
        """Add a job that needs these."""
        pending = len(parents) if role is None else 1
        new = new_job(workflow_id=self.workflow, pending_dependencies=pending, workflow_role=role)
        [accepted] = self.jobs.enqueue_jobs([new], on=on or self.main)
        assert accepted is not None
        self.workflows.add_edges([Edge(accepted.id, parent, on_failure) for parent in parents], on=on or self.main)
        return accepted.id

    def run_all(self, owner: Any = A) -> dict[int, Claimed]:
        """Claim what is ready."""
        return {run.id: run for run in self.claim(owner, 10)}

    def seen(self, job_id: int) -> tuple[str, int]:
        """Return a job's state, and how many it waits for."""
        row = self.main.execute(
            "SELECT state, pending_dependencies FROM conveyor_job WHERE id = %s", (job_id,)
        ).fetchone()
        assert row is not None
        return row[0], row[1]

    def resolve(self, *parents: int, on: Connection | None = None) -> list[int]:
        """Do what is done after the commit of the parents' ends; return the dependants that it lowered."""
        return [job.id for job in self.workflows.resolve_edges(parents, on=on or self.main)]

    def finish(self, on: Connection | None = None) -> set[int]:
        """Finish the workflow if it has ended."""
        return self.workflows.finish_workflows([self.workflow], on=on or self.main).ids


Scenario = Callable[[Flow], None]


def parents_that_end_at_once(flow: Flow) -> None:
    """The second does not wait for the child that the first has locked; the child is lowered by each, once."""
    first, second = flow.add(), flow.add()
    child = flow.add(first, second)
    runs = flow.run_all()
    other = flow.connect()
    with flow.transaction() as open_end:
        assert flow.succeed(A, runs[first], on=open_end) == [WON]
        running = flow.sides.start(other, flow.succeed, A, runs[second])
        blocked = running.settle()
    assert running.result() == [WON]
    assert not blocked
    assert flow.seen(child) == ("blocked", 1)
    assert flow.resolve(first, second) == [child]
    assert flow.seen(child) == ("ready", 0)
    assert flow.resolve(first, second) == []


def several_edges_at_once(flow: Flow) -> None:
    """A child of which two edges are resolved in one statement is lowered by two."""
    first, second, third = flow.add(), flow.add(), flow.add()
    runs = flow.run_all()
    flow.succeed(A, runs[first], runs[second])
    child = flow.add(first, second, third)
    flow.resolve(first, second)
    assert flow.seen(child) == ("blocked", 1)
    flow.succeed(A, runs[third])
    assert flow.seen(child) == ("ready", 0)


def an_edge_that_is_resolved_already(flow: Flow) -> None:
    """It is not counted again beside one that is late."""
    first, second, third = flow.add(), flow.add(), flow.add()
    runs = flow.run_all()
    flow.succeed(A, runs[second])
    child = flow.add(first, second, third)
    flow.succeed(A, runs[first])
    flow.resolve(first, second)
    assert flow.seen(child) == ("blocked", 1)


def resolvers_of_one_edge(flow: Flow) -> None:
    """Two that find the same late edge: one resolves it, and the other neither waits nor counts it."""
    first, second = flow.add(), flow.add()
    flow.succeed(A, flow.run_all()[first])
    child = flow.add(first, second)
    other = flow.connect()
    with flow.transaction() as open_look:
        assert flow.resolve(first, on=open_look) == [child]
        running = flow.sides.start(other, flow.resolve, first)
        blocked = running.settle()
    assert running.result() == []
    assert not blocked
    assert flow.resolve(first) == []
    assert flow.seen(child) == ("blocked", 1)


def a_child_that_is_being_added(flow: Flow) -> None:
    """Its parent ends before the commit that adds it: what is done at that commit finds the edge."""
    parent = flow.add()
    runs = flow.run_all()
    with flow.transaction() as adding:
        assert flow.workflows.join_workflow(flow.workflow, on=adding)
        child = flow.add(parent, on=adding)
        assert flow.succeed(A, runs[parent]) == [WON]
        assert flow.resolve(parent) == []
        # The workflow must not be finished under it.
        assert flow.finish() == set()
    assert flow.seen(child) == ("blocked", 1)
    assert flow.finish() == set()
    assert flow.resolve(parent) == [child]
    assert flow.seen(child) == ("ready", 0)


def a_parent_that_goes_on(flow: Flow) -> None:
    """Whoever asks too early resolves nothing."""
    parent = flow.add()
    child = flow.add(parent)
    flow.run_all()
    assert flow.resolve(parent) == []
    assert flow.seen(child) == ("blocked", 1)


def a_zombie_parent(flow: Flow) -> None:
    """A has lost its lease when it reports success or failure: nobody is released or cancelled by it."""
    parent = flow.add()
    child = flow.add(parent)
    mine = flow.claim_one(A)
    theirs = flow.take_over(B)
    assert flow.succeed(A, mine) == [LOST]
    assert flow.end(A, mine, kind=Fail) == [LOST]
    assert flow.seen(child) == ("blocked", 1)
    assert flow.succeed(B, theirs) == [WON]
    assert flow.seen(child) == ("ready", 0)


def a_zombie_between_its_statements(flow: Flow) -> None:
    """A's success is not committed when A vanishes: its release goes with it, and comes back with the next run's."""
    parent = flow.add()
    child = flow.add(parent)
    mine = flow.claim_one(A)
    with flow.lost_transaction() as lost:
        assert flow.succeed(A, mine, on=lost) == [WON]
        assert lost.execute("SELECT state FROM conveyor_job WHERE id = %s", (child,)).fetchone() == ("ready",)
    assert flow.seen(child) == ("blocked", 1)
    theirs = flow.take_over(B)
    assert flow.succeed(B, theirs) == [WON]
    assert flow.seen(child) == ("ready", 0)


def finishers_at_once(flow: Flow) -> None:
    """One finishes, the other neither waits nor finishes again."""
    parent, done = flow.add(), flow.add(role=WorkflowRole.ON_COMPLETION)
    flow.succeed(A, flow.run_all()[parent])
    other = flow.connect()
    with flow.transaction() as open_look:
        assert flow.finish(on=open_look) == {flow.workflow}
        running = flow.sides.start(other, flow.finish)
        blocked = running.settle()
    assert running.result() == set()
    assert not blocked
    assert flow.finish() == set()
    assert flow.seen(done) == ("ready", 0)


def finisher_reads_before_a_job_is_added(flow: Flow) -> None:
    """Somebody adds a job after the finisher's snapshot and before its lock: the workflow goes on."""
    parent = flow.add()
    done = flow.add(role=WorkflowRole.ON_SUCCESS)
    flow.succeed(A, flow.run_all()[parent])
    finisher, keeper = flow.connect(), flow.connect()
    held_up = AlteredWorkflows({
        "finish_workflows": gated(flow.texts.get("finish_workflows") or statement("finish_workflows"))
    })  # fmt: skip
    keeper.execute("SELECT pg_advisory_lock(%s)", (GATE,))
    running = flow.sides.start(finisher, held_up.finish_workflows, [flow.workflow])
    running.wait_until_blocked()
    with flow.transaction() as adding:
        assert flow.workflows.join_workflow(flow.workflow, on=adding)
        flow.add(on=adding)
    keeper.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
    assert running.result().ids == set()
    assert flow.seen(done) == ("blocked", 1)


def a_callback_that_is_locked(flow: Flow) -> None:
    """A workflow does not finish without it, since nobody would release it afterwards."""
    parent = flow.add()
    done = flow.add(role=WorkflowRole.ON_COMPLETION)
    flow.succeed(A, flow.run_all()[parent])
    with flow.lost_transaction() as somebody:
        somebody.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (done,))
        flow.finish()
    flow.finish()
    assert flow.seen(done) == ("ready", 0)


def retry_meets_a_late_release(flow: Flow) -> None:
    """A dependant is lowered while it is about to run again: its edges are counted after the wait for its row."""
    failing, slow = flow.add(), flow.add()
    child = flow.add(failing, slow)
    runs = flow.run_all()
    flow.end(A, runs[failing], kind=Fail)
    assert flow.seen(child) == ("cancelled", 1)
    other = flow.connect()
    with flow.transaction() as open_end:
        assert flow.succeed(A, runs[slow], on=open_end) == [WON]

        def retry(on: Connection) -> list[Any]:
            with on.transaction():
                dead = flow.workflows.lock_dead_jobs(flow.workflow, on=on)
                return flow.workflows.retry_workflow(dead, on=on)

        running = flow.sides.start(other, retry)
        running.wait_until_blocked()
    assert {job.id for job in running.result()} == {failing, child}
    assert flow.seen(child) == ("blocked", 1)
    flow.succeed(A, flow.claim_one(A))
    assert flow.seen(child) == ("ready", 0)


def cancel_meets_a_claim(flow: Flow) -> None:
    """A job is claimed while its workflow is cancelled: it gets the request, and keeps its lease."""
    job = flow.add()
    other = flow.connect()
    with flow.transaction() as open_claim:
        mine = flow.claim_one(A, on=open_claim)
        running = flow.sides.start(other, flow.workflows.cancel_workflow, flow.workflow)
        running.wait_until_blocked()
    assert running.result() == {job: "running"}
    seen = flow.job(job)
    assert (seen.state, seen.owner, seen.version, seen.cancel_requested) == ("running", A, mine.version, True)


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        parents_that_end_at_once,
        several_edges_at_once,
        an_edge_that_is_resolved_already,
        resolvers_of_one_edge,
        a_child_that_is_being_added,
        a_parent_that_goes_on,
        a_zombie_parent,
        a_zombie_between_its_statements,
        finishers_at_once,
        finisher_reads_before_a_job_is_added,
        a_callback_that_is_locked,
        retry_meets_a_late_release,
        cancel_meets_a_claim,
    )
}
