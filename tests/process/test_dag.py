"""Large graphs under real worker processes that are killed: every job ends, in an order that respects every edge."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from django.db import connection

from conveyor_django import needs, workflow
from conveyor_django.models import Dependency, Job, Workflow
from tests.support import flows
from tests.support.processes import Process, running
from tests.support.waits import wait_until
from tests.support.workflows import assert_nothing_stuck

MAX_LOST = 3

# Written in the order of what could be seen: a number is drawn before the commit that it tells of.
LOG = """
CREATE TABLE test_log (place bigserial PRIMARY KEY, job_id bigint NOT NULL, state text NOT NULL);
CREATE FUNCTION test_log() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    INSERT INTO test_log (job_id, state) VALUES (NEW.id, NEW.state);
    RETURN NULL;
END
$body$;
CREATE TRIGGER test_log AFTER UPDATE OF state ON conveyor_job
    FOR EACH ROW WHEN (NEW.state IS DISTINCT FROM OLD.state) EXECUTE FUNCTION test_log();
"""


@pytest.fixture(autouse=True)
def _log() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(LOG)
        yield
        cursor.execute("DROP TRIGGER test_log ON conveyor_job; DROP FUNCTION test_log; DROP TABLE test_log")


@dataclass(frozen=True)
class Graph:
    """Layers of jobs with random edges between them; some jobs fail."""

    layers: list[list[int]]
    needs: dict[int, dict[int, str]]
    failing: set[int]


def random_graph(seed: int, *, size: int, layer: tuple[int, int]) -> Graph:
    """Return a graph of so many jobs: the same for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - the same graph each time
    layers: list[list[int]] = []
    edges: dict[int, dict[int, str]] = {}
    made = 0
    while made < size:
        width = min(chance.randint(*layer), size - made)
        new = list(range(made, made + width))
        for job in new:
            known = layers[-1] if layers else []
            older = chance.sample(range(made - len(known)), min(1, made - len(known))) if layers else []
            chosen = [*chance.sample(known, min(len(known), chance.randint(1, 4))), *older]
            edges[job] = {needed: chance.choice(["cancel", "ignore", "ignore", "run", "run"]) for needed in chosen}
        layers.append(new)
        made += width
    return Graph(layers, edges, set(chance.sample(range(size), max(1, size // 20))))


def enqueue(graph: Graph, seconds: float) -> dict[int, int]:
    """Enqueue the graph; return {number: id}."""
    with workflow("graph", on_success=flows.value, on_failure=flows.value, on_completion=flows.value) as wf:
        handles = {}
        for job in (job for layer in graph.layers for job in layer):
            handles[job] = wf.add(
                flows.node, f"n{job}", seconds, job in graph.failing, name=f"n{job}",
                after=[needs(handles[needed], on_failure=policy) for needed, policy in graph.needs[job].items()],
            )  # fmt: skip
    return {job: handle.id for job, handle in handles.items()}


def kill_one(worker: Process, chance: random.Random) -> None:
    """Kill one of the children that work, as an out-of-memory killer would.

    Not one that is still starting: where that takes seconds, none would ever get to work.
    """
    working = {event["process"] for event in worker.log("worker.started")}
    if pids := [pid for pid in worker.child_pids() if pid in working]:
        os.kill(chance.choice(pids), signal.SIGKILL)


def ended() -> int:
    return Job.objects.filter(workflow_role=None, finished_at__isnull=False).count()


def assert_each_ended_as_its_edges_say(graph: Graph, ids: dict[int, int], effects: list[str]) -> None:
    """As far as the kills allow: a job that was lost too often has failed, whatever it would have done."""
    jobs = {job.pk: job for job in Job.objects.filter(workflow_role=None)}
    state = {number: jobs[job_id].state for number, job_id in ids.items()}
    for number, needed in graph.needs.items():
        job = jobs[ids[number]]
        if any(policy == "cancel" and state[parent] != "succeeded" for parent, policy in needed.items()):
            expected = "cancelled"
        elif number in graph.failing or job.lost_count >= MAX_LOST:
            expected = "failed"
        else:
            expected = "succeeded"
        assert job.state == expected, (number, needed, job.lost_count)
    # Each effect once, and none of what did not succeed.
    assert effects == sorted(f"n{number}" for number in ids if state[number] == "succeeded")
    roles = dict(Job.objects.exclude(workflow_role=None).values_list("workflow_role", "state"))
    assert roles == {"on_success": "cancelled", "on_failure": "succeeded", "on_completion": "succeeded"}
    assert Workflow.objects.get().finished_at is not None


def assert_the_order_respects_every_edge() -> None:
    """No run of a job began before all that it needs had ended."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT job_id, min(place) FROM test_log WHERE state = 'running' GROUP BY job_id")
        began = dict(cursor.fetchall())
        cursor.execute("SELECT job_id, place FROM test_log WHERE state IN ('succeeded', 'failed', 'cancelled')")
        ends = cursor.fetchall()
    end = dict(ends)
    assert [job for job, times in Counter(job for job, _ in ends).items() if times > 1] == []
    edges = list(Dependency.objects.values_list("job_id", "needs_id", "resolved"))
    wrong = [(job, needed) for job, needed, _ in edges if job in began and began[job] <= end[needed]]
    assert wrong == []
    # Of a job that was cancelled by one, an edge to another may be late; the sweep has been here.
    assert [(job, needed) for job, needed, resolved in edges if not resolved] == []


def judge(graph: Graph, ids: dict[int, int], effects: Callable[[], list[str]]) -> None:
    assert_nothing_stuck()
    assert_each_ended_as_its_edges_say(graph, ids, effects())
    assert_the_order_respects_every_edge()


def test_a_small_graph_and_one_kill(effects, all_end):
    graph = random_graph(7, size=60, layer=(5, 15))
    ids = enqueue(graph, seconds=0.02)
    with running("conveyor_worker", "--processes", "2", "--concurrency", "3") as worker:
        wait_until(lambda: ended() >= 10, "some jobs have ended")
        kill_one(worker, random.Random(7))  # noqa: S311
        all_end()
        worker.wait_for("child.died", signal="SIGKILL")
    judge(graph, ids, effects)


@pytest.mark.long
@pytest.mark.timeout(400)
def test_a_thousand_jobs_and_a_kill_every_second(effects, all_end):
    graph = random_graph(1, size=1000, layer=(10, 100))
    ids = enqueue(graph, seconds=0.15)
    chance = random.Random(1)  # noqa: S311
    second = threading.Event()
    with running("conveyor_worker", "--processes", "4", "--concurrency", "4") as worker:
        wait_until(lambda: ended() > 0, "a job has ended")
        deadline = time.monotonic() + 300.0
        while ended() < len(ids) and time.monotonic() < deadline:
            kill_one(worker, chance)
            second.wait(1.0)
        all_end(patience=60.0)
        died = len(worker.log("child.died", signal="SIGKILL"))
    judge(graph, ids, effects)
    print(f"\n{died} children were killed, {Job.objects.filter(lost_count__gt=0).count()} jobs lost")
    assert died >= 5
