"""What is read from a history, and what follows from the seed alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from .__main__ import RESULTS, folder_of
from .fleet import tracebacks
from .result import Spread, recovery, victims
from .scenarios import SCENARIOS
from .scenarios.mix import FAULTS, planned
from .workload import GRAPH_SIZE, STUBBORN, Graph, Single, plan, with_effect


def record(event: str, at: float, *, job: int = 1, token: int = 1, pid: int = 10, **fields: Any) -> dict[str, Any]:
    return {"event": event, "at": at, "pid": pid, "job": job, "token": token} | fields


def kill(at: float, *pids: int) -> dict[str, Any]:
    return {"event": "fault", "at": at, "pid": 1, "what": "kill -9", "pids": list(pids)}


def test_a_victim_waits_from_the_kill_to_its_next_begin() -> None:
    history = [record("begin", 1.0), kill(2.0, 10), record("begin", 5.5, token=2, pid=11)]
    assert victims(history) == Spread(count=1, p50=3.5, p95=3.5, longest=3.5)


@pytest.mark.parametrize(
    "history",
    [
        # Its run had ended; it ran elsewhere; it had committed its success and never began again.
        [record("begin", 1.0), record("end", 1.5), kill(2.0, 10), record("begin", 5.5, token=2)],
        [record("begin", 1.0, pid=11), kill(2.0, 10), record("begin", 5.5, token=2)],
        [record("begin", 1.0), kill(2.0, 10)],
    ],
    ids=["ended", "elsewhere", "committed"],
)
def test_who_is_no_victim(history: list[dict[str, Any]]) -> None:
    assert victims(history) == Spread(count=0, p50=None, p95=None, longest=None)


def test_the_end_of_a_zombie_s_run_is_not_that_of_the_newer_one() -> None:
    history = [
        record("begin", 1.0), record("begin", 2.0, token=2, pid=11), record("end", 3.0), kill(4.0, 11),
        record("begin", 6.0, token=3, pid=12),
    ]  # fmt: skip
    assert victims(history).count == 1


def test_a_spread_is_by_nearest_rank() -> None:
    assert Spread.of(range(1, 101)) == Spread(count=100, p50=50, p95=95, longest=100)


def test_recovery_is_from_the_first_fault_to_the_last_end() -> None:
    history = [record("begin", 1.0), kill(2.0, 9), record("end", 3.0), kill(4.0, 9), record("end", 9.0)]
    assert recovery(history) == 7.0
    assert recovery(history[:1]) is None


@pytest.mark.parametrize("jobs", [0, 1, GRAPH_SIZE - 1, 60, 61, 1000])
def test_a_plan_has_so_many_jobs_and_is_the_seed_s(jobs: int) -> None:
    names = [name for item in plan(jobs, 7) for name in item.names]
    assert len(set(names)) == len(names) == jobs
    assert list(plan(jobs, 7)) == list(plan(jobs, 7))
    assert jobs < GRAPH_SIZE or any(isinstance(item, Graph) for item in plan(jobs, 7))
    assert jobs < GRAPH_SIZE or list(plan(jobs, 7)) != list(plan(jobs, 8))


def test_a_plan_may_have_some_kinds_only() -> None:
    items = list(plan(9, 1, only=STUBBORN))
    assert [item.kind for item in items if isinstance(item, Single)] == [*STUBBORN, *STUBBORN, STUBBORN[0]]
    assert with_effect(name for item in items for name in item.names) == []


def test_the_schedule_of_the_mix_is_the_seed_s() -> None:
    schedule = planned(10_000, 7)
    assert schedule == planned(10_000, 7) != planned(10_000, 8)
    assert schedule == sorted(schedule, key=lambda fault: fault[0])
    assert {name for _moment, name in schedule} == set(FAULTS)


def test_a_result_of_a_long_scenario_has_its_size_in_its_name() -> None:
    assert SCENARIOS["mix"].result_name(10_000) == "fault-mix-10000"
    assert SCENARIOS["calm"].result_name(60) == "fault-calm"


@pytest.mark.parametrize(
    ("name", "jobs", "seed", "minutes", "standard"),
    [
        ("calm", 60, 1, None, True), ("calm", 61, 1, None, False), ("calm", 60, 2, None, False),
        ("calm", 60, 1, 1.0, False), ("mix", 10_000, 7, 10.0, True),
    ],
)  # fmt: skip
def test_only_a_standard_run_is_evidence(
    tmp_path: Path, name: str, jobs: int, seed: int, minutes: float | None, *, standard: bool
) -> None:
    folder = folder_of(SCENARIOS[name], jobs=jobs, seed=seed, minutes=minutes, else_in=tmp_path)
    assert folder == RESULTS if standard else folder.parent == tmp_path


def test_every_traceback_is_told_but_for_interrupts() -> None:
    begin = "Traceback (most recent call last):"
    lines = [
        "a warning", begin, '  File "a.py", line 1, in f', "    @staticmethod", "",
        "conveyor_django.worker.interrupt.Interrupted", begin, '  File "b.py", line 2, in g', "ValueError: no", "more",
    ]  # fmt: skip
    assert list(tracebacks(lines)) == [f'{begin}\n  File "b.py", line 2, in g\nValueError: no']
