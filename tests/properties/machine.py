"""All verbs: besides those of runs, workflows, and queues and tasks with settings."""

from __future__ import annotations

import datetime as dt
from typing import Any, Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conveyor_django import outcomes
from conveyor_django.managers.workflows import Edge as NewEdge
from conveyor_django.managers.workflows import WorkflowManager
from conveyor_django.models import Job
from conveyor_django.states import OnFailure

from .claims import ALL, claim_everything, claim_once, unpark
from .entities import Edge, Queue
from .ground import KEYS, QUEUES, TASKS, owners, places, queues
from .runs import RunMachine

caps: Final = st.sampled_from([None, 1, 2])
policies: Final = st.sampled_from(list(OnFailure))


class JobMachine(RunMachine):
    """Verbs of runs, workflows, caps and pauses."""

    def __init__(self) -> None:
        super().__init__()
        self.workflows: list[int] = []

    @initialize(
        queue=queues, paused=st.sampled_from(["queue", "task", None, None]), cap=caps, key_cap=caps,
        keyed=st.integers(0, 3),
    )  # fmt: skip
    def begin_with_settings(
        self, queue: str, paused: str | None, cap: int | None, key_cap: int | None, keyed: int
    ) -> None:
        """Begin with the settings of one queue, and jobs of which only so many may run."""
        self.set_queue(queue=queue, paused=paused == "queue", cap=cap, key_cap=key_cap)
        if paused == "task":
            self.pause_or_resume(task=TASKS[0])
        for _ in range(keyed):
            self.enqueue_with_concurrency_key(queue=queue, task=TASKS[0], concurrency_key=KEYS[0])

    # -- workflows --------------------------------------------------------------------------------------------

    @rule(
        queue=queues, later=st.booleans(), policy=policies, other=policies, shape=st.sampled_from(["chain", "join"])
    )  # fmt: skip
    def enqueue_workflow(self, queue: str, later: bool, policy: OnFailure, other: OnFailure, shape: str) -> None:
        """Accept three jobs: one after the other, or one after two."""
        manager = WorkflowManager().db_manager("default")
        workflow = manager.add_workflow("w", now=self.now, on=self.connection)
        needs = [(1, 0, policy), (2, 1, other)] if shape == "chain" else [(2, 0, policy), (2, 1, other)]
        pending = [sum(child == number for child, _, _ in needs) for number in range(3)]
        run_at = self.now + dt.timedelta(seconds=self.delay()) if later else None
        jobs = [
            self.new_job(
                queue=queue, workflow_id=workflow, pending_dependencies=count, run_at=run_at if number == 2 else None
            )
            for number, count in enumerate(pending)
        ]  # fmt: skip
        accepted = Job.objects.enqueue_jobs(jobs, now=self.now, on=self.connection)
        ids = [job.id for job in accepted if job is not None]
        edges = [NewEdge(ids[child], ids[parent], on_failure) for child, parent, on_failure in needs]
        manager.add_edges(edges, on=self.connection)
        for new, job_id in zip(jobs, ids, strict=True):
            self.accept(new, job_id)
        self.workflows.append(workflow)
        self.model.edges += [Edge(edge.job, edge.needs, edge.on_failure.value) for edge in edges]

    @precondition(lambda self: self.workflows)
    @rule(place=places, verb=st.sampled_from(["cancel", "retry"]))
    def cancel_or_retry_workflow(self, place: int, verb: str) -> None:
        """Cancel a workflow, or run what of it did not succeed again."""
        workflow, manager = self.workflows[place % len(self.workflows)], WorkflowManager().db_manager("default")
        if verb == "cancel":
            states = manager.cancel_workflow(workflow, now=self.now, on=self.connection)
            assert states == self.model.cancel_workflow(workflow, self.now)
        else:
            dead = manager.lock_dead_jobs(workflow, on=self.connection)
            again = manager.retry_workflow(dead, now=self.now, on=self.connection)
            assert {job.id: job.state for job in again} == self.model.retry_workflow(workflow, self.now)

    # -- caps and pauses --------------------------------------------------------------------------------------

    @rule(queue=queues, task=st.sampled_from(TASKS), concurrency_key=st.sampled_from(KEYS))
    def enqueue_with_concurrency_key(self, queue: str, task: str, concurrency_key: str) -> None:
        """Accept a job of which only so many of its key may run."""
        self.enqueue(queue=queue, task=task, priority=0, later=False, key=None, concurrency_key=concurrency_key)

    @rule(queue=queues, paused=st.booleans(), cap=caps, key_cap=caps)
    def set_queue(self, queue: str, paused: bool, cap: int | None, key_cap: int | None) -> None:
        """Change a queue's settings."""
        self.execute(
            "INSERT INTO conveyor_queue (name, paused, exact_cap, key_cap) VALUES (%s, %s, %s, %s) ON CONFLICT (name) "
            "DO UPDATE SET paused = excluded.paused, exact_cap = excluded.exact_cap, key_cap = excluded.key_cap",
            queue, paused, cap, key_cap,
        )  # fmt: skip
        self.model.queues[queue] = Queue(paused=paused, exact_cap=cap, key_cap=key_cap)

    @rule(task=st.sampled_from(TASKS))
    def pause_or_resume(self, task: str) -> None:
        """Pause a task, or let it go on."""
        if task in self.model.paused_tasks:
            self.execute("DELETE FROM conveyor_pausedtask WHERE task = %s", task)
        else:
            self.execute("INSERT INTO conveyor_pausedtask (task, paused_at) VALUES (%s, now())", task)
        self.model.paused_tasks ^= {task}

    @rule()
    def unpark(self) -> None:
        """Put back in line what had made way."""
        unpark(self.connection)

    @rule(queue=queues, owner=owners, concurrency_key=st.sampled_from([None, *KEYS]))
    def lower_cap(self, queue: str, owner: UUID, concurrency_key: str | None) -> None:
        """Lower a cap below what runs, and end a part of that: what is left is the cap, or above it."""
        for cap, jobs in ((2, 3), (1, 1)):
            exact_cap, key_cap = (cap, None) if concurrency_key is None else (None, cap)
            self.set_queue(queue=queue, paused=False, cap=exact_cap, key_cap=key_cap)
            for _ in range(jobs):
                self.enqueue(
                    queue=queue, task=TASKS[1], priority=5, later=False, key=None, concurrency_key=concurrency_key
                )  # fmt: skip
            self.the_tables_are_as_the_reference_says()
            claim_once(self.model, self.connection, owner, [queue], ALL, self.now)
            self.end_one(queue, concurrency_key)

    @rule(queue=queues, owner=owners, concurrency_key=st.sampled_from([None, *KEYS]))
    def end_and_claim_all(self, queue: str, owner: UUID, concurrency_key: str | None) -> None:
        """End a run: whoever waited for its permit has it."""
        claim_once(self.model, self.connection, owner, [queue], ALL, self.now)
        self.end_one(queue, concurrency_key)
        self.claim_all(owner=owner)

    def end_one(self, queue: str, concurrency_key: str | None) -> None:
        """Let the oldest run of a queue succeed, or that of a key in it."""
        for job in self.model.jobs.values():
            if (job.queue, job.state) == (queue, "running") and concurrency_key in (None, job.concurrency_key):
                end = outcomes.Succeed(id=job.id, version=job.version)
                Job.objects.succeed_jobs([end], owner=job.owner, now=self.now, on=self.connection)
                self.model.succeed((job.id, job.version), job.owner, self.now)
                break
        self.the_tables_are_as_the_reference_says()

    @rule(owner=owners)
    def claim_all(self, owner: UUID) -> None:
        """Claim until nothing comes any more: then nothing is left that may run."""
        claim_everything(self.model, self.connection, owner, QUEUES, self.now)

    def execute(self, query: str, *params: Any) -> None:
        """Run a statement that is none of Conveyor's."""
        with self.connection.cursor() as cursor:
            cursor.execute(query, params)  # type: ignore[arg-type]
