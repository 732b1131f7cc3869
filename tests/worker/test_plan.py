"""Fair turns: which queue goes first."""

from __future__ import annotations

from collections import Counter

from conveyor_django.worker.plan import QueuePlan


def plan_of(names: str) -> QueuePlan:
    return QueuePlan(names, alias="default", lease_seconds=30.0)


def order(plan: QueuePlan) -> str:
    return "".join(plan.turn())


def serve(plan: QueuePlan, backlogs: dict[str, int], limit: int) -> Counter[str]:
    """Claim as the statement does: in the plan's order, as many of each as there are."""
    taken: Counter[str] = Counter()
    for name in plan.turn():
        taken[name] += min(backlogs.get(name, 0), limit - taken.total())
        backlogs[name] = backlogs.get(name, 0) - taken[name]
    plan.served({name for name, jobs in taken.items() if jobs})
    return taken


def test_who_was_served_goes_last() -> None:
    plan = plan_of("abc")
    plan.served({"b"})
    assert order(plan) == "acb"
    plan.served({"a", "c"})
    assert order(plan) == "bac"


def test_a_look_that_found_nothing_changes_nothing() -> None:
    plan = plan_of("abc")
    plan.served(set())
    assert order(plan) == "abc"


def test_a_huge_backlog_starves_no_other_queue() -> None:
    plan = plan_of("ab")
    backlogs = {"a": 10**6, "b": 100}
    served = [serve(plan, backlogs, limit=4) for _ in range(10)]
    assert sum(served, Counter()) == {"a": 20, "b": 20}


def test_empty_queues_between_favour_nobody() -> None:
    plan = plan_of("a1234567b")
    backlogs = {"a": 10**6, "b": 10**6}
    assert sum((serve(plan, backlogs, limit=1) for _ in range(100)), Counter()) == {"a": 50, "b": 50}


def test_a_queue_that_is_found_later_has_its_turn_after_each_of_the_others() -> None:
    plan = plan_of("")
    plan.wants("a")
    plan.wants("b")
    backlogs = dict.fromkeys("abc", 10**6)
    serve(plan, backlogs, limit=1)
    plan.wants("c")
    assert [next(iter(serve(plan, backlogs, limit=1))) for _ in range(3)] == ["b", "a", "c"]
