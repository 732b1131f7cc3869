"""The numbers of a worker: what its children have counted, those that died too, and how the living are."""

from __future__ import annotations

from typing import Final

from ..worker.supervisor import Supervisor
from ..worker.tally import VERBS, Figures, Label
from ..worker.vitals import vitals_of
from .collector import Families, Source

# Counters of the boards and of the supervisor, which nobody tells by queue.
_COUNTERS: Final = {
    "refused": "conveyor_outcomes_refused_total",
    "lost": "conveyor_leases_lost_total",
    "killed": "conveyor_runs_killed_total",
    "deaths": "conveyor_worker_deaths_total",
}


def worker_source(supervisor: Supervisor, *, alias: str) -> Source:
    """Return the numbers of a supervisor, whose children work on the database `alias`."""

    def add(families: Families) -> None:
        counters = supervisor.totals.counters()
        for counter, name in _COUNTERS.items():
            families.add(name, counters[counter], alias)
        families.add("conveyor_rescued_total", counters["rescued"], alias, "supervisor")
        for label, figures in supervisor.totals.figures().items():
            _add_figures(families, alias, label, figures)
        _add_vitals(families, alias, supervisor)

    return add


def _add_figures(families: Families, alias: str, label: Label, figures: Figures) -> None:
    queue, task = label
    if not task:
        families.add("conveyor_claimed_total", figures.claimed, alias, queue)
        families.add_durations("conveyor_wait_seconds", figures.waits, alias, queue)
        return
    families.add("conveyor_enqueued_total", figures.enqueued, alias, queue, task)
    families.add_durations("conveyor_run_seconds", figures.runs, alias, queue, task)
    for verb in VERBS:
        families.add("conveyor_outcomes_total", figures.ended(verb), alias, queue, task, verb.value)


def _add_vitals(families: Families, alias: str, supervisor: Supervisor) -> None:
    vitals = vitals_of(supervisor.totals.living())
    families.add("conveyor_worker_processes", vitals.processes, alias)
    families.add("conveyor_worker_slots", vitals.slots, alias)
    families.add("conveyor_worker_slots_in_use", vitals.slots_in_use, alias)
    families.add("conveyor_worker_listening", vitals.listening, alias)
    families.add("conveyor_worker_heartbeat_age_seconds", vitals.heartbeat_age, alias)
    families.add("conveyor_worker_fetch_age_seconds", vitals.fetch_age, alias)
