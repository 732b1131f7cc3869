"""Which number goes under which name: each one told here is another."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from conveyor_django.metrics.collector import Families, Source
from conveyor_django.metrics.schedulers import scheduler_source
from conveyor_django.metrics.workers import worker_source
from conveyor_django.scheduler.loop import Record


def told(source: Source) -> dict[tuple[str, ...], float]:
    """Return the samples that are not 0, by their name and the labels behind that of the database."""
    families = Families()
    source(families)
    samples = [sample for family in families.all() for sample in family.samples]
    assert {sample.labels["database"] for sample in samples} == {"there"}
    return {
        (sample.name.removeprefix("conveyor_"), *list(sample.labels.values())[1:]): sample.value
        for sample in samples
        if sample.value
    }


def test_a_scheduler_s() -> None:
    duties = ["promote", "ticks", "rescue", "dead workers", "prune", "sweep"]
    records = {duty: Record(looks=100 + place, changed=200 + place) for place, duty in enumerate(duties)}
    loop: Any = SimpleNamespace(records=records, errors={duty: 300 + place for place, duty in enumerate(duties)})
    found = {name: value for name, value in told(scheduler_source(loop, alias="there")).items() if "age" not in name[0]}
    expected: dict[tuple[str, ...], float] = {}
    for place, duty in enumerate(["promote", "ticks", "rescue", "dead_workers", "prune", "sweep"]):
        expected |= {
            ("scheduler_looks_total", duty): 100 + place,
            ("scheduler_changes_total", duty): 200 + place,
            ("scheduler_errors_total", duty): 300 + place,
        }
    assert found == expected | {
        ("promoted_total",): 200, ("cron_ticks_total",): 201, ("rescued_total", "lease"): 202,
        ("rescued_total", "dead_worker"): 203, ("pruned_total",): 204,
    }  # fmt: skip


def test_a_supervisor_s() -> None:
    counters = {"refused": 1, "lost": 2, "killed": 3, "deaths": 4, "rescued": 5}
    totals = SimpleNamespace(counters=lambda: counters, figures=dict, living=list)
    supervisor: Any = SimpleNamespace(totals=totals)
    assert told(worker_source(supervisor, alias="there")) == {
        ("outcomes_refused_total",): 1, ("leases_lost_total",): 2, ("runs_killed_total",): 3,
        ("worker_deaths_total",): 4, ("rescued_total", "supervisor"): 5,
    }  # fmt: skip
