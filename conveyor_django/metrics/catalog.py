"""Every metric: its name, labels and meaning, and which process has it. docs/metrics.md shows the same table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    """What kind of metric it is."""

    # Only grows, and begins at 0 with its process.
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Home(StrEnum):
    """Which process has it."""

    # `conveyor_worker --metrics-port`
    WORKER = "worker"
    # `conveyor_scheduler --metrics-port`, and a worker with a scheduler beside it
    SCHEDULER = "scheduler"
    # A process with conveyor_django.metrics.urls
    WEB = "web"


@dataclass(frozen=True, slots=True)
class Definition:
    """One metric. All have the label `database`, the alias, before those of `labels`."""

    name: str
    kind: Kind
    homes: tuple[Home, ...]
    labels: tuple[str, ...]
    help: str

    @property
    def label_names(self) -> tuple[str, ...]:
        """All labels."""
        return ("database", *self.labels)


_W, _S, _D = (Home.WORKER,), (Home.SCHEDULER,), (Home.WEB,)
_COUNTER, _GAUGE, _HISTOGRAM = Kind.COUNTER, Kind.GAUGE, Kind.HISTOGRAM

_ALL: Final = (
    # -- the life of a job ----------------------------------------------------------------------------------
    Definition("conveyor_enqueued_total", _COUNTER, (Home.WEB, Home.WORKER), ("queue", "task"),
               "Jobs stored by this process, or by a worker's handlers. A transaction that rolls back has counted."),
    Definition("conveyor_claimed_total", _COUNTER, _W, ("queue",), "Jobs claimed."),
    Definition("conveyor_wait_seconds", _HISTOGRAM, _W, ("queue",),
               "From when a job was due to its first claim; without jobs of workflows, which wait for others."),
    Definition("conveyor_run_seconds", _HISTOGRAM, _W, ("queue", "task"), "How long handlers ran."),
    Definition("conveyor_outcomes_total", _COUNTER, _W, ("queue", "task", "verb"),
               "Outcomes of runs that the database took: succeed, retry, snooze, fail, cancel, release."),
    Definition("conveyor_outcomes_refused_total", _COUNTER, _W, (),
               "Outcomes that the database refused as stale: the lease was another run's by then."),
    Definition("conveyor_leases_lost_total", _COUNTER, _W, (),
               "Leases that a worker found lost, or could not renew in time, while the handler ran."),
    Definition("conveyor_runs_killed_total", _COUNTER, _W, (),
               "Runs, timed out or cancelled, that only the end of their process has ended."),
    Definition("conveyor_rescued_total", _COUNTER, (Home.WORKER, Home.SCHEDULER), ("by",),
               "Jobs taken back from workers: by their supervisor, by a scheduler that found the worker dead "
               "(dead_worker), or after the lease had lapsed (lease)."),
    Definition("conveyor_promoted_total", _COUNTER, _S, (), "Scheduled jobs, retries too, that became ready."),
    Definition("conveyor_cron_ticks_total", _COUNTER, _S, (), "Jobs enqueued by cron entries."),
    Definition("conveyor_pruned_total", _COUNTER, _S, (), "Ended jobs, workflows and idle permits deleted."),
    # -- workers --------------------------------------------------------------------------------------------
    Definition("conveyor_worker_processes", _GAUGE, _W, (), "Child processes that live."),
    Definition("conveyor_worker_deaths_total", _COUNTER, _W, (),
               "Child processes that ended without giving back what they held."),
    Definition("conveyor_worker_slots", _GAUGE, _W, (), "How many jobs may run at once."),
    Definition("conveyor_worker_slots_in_use", _GAUGE, _W, (), "Runs that have started and have no outcome yet."),
    Definition("conveyor_worker_heartbeat_age_seconds", _GAUGE, _W, (),
               "Since the database last took a heartbeat; of the process that is worst off."),
    Definition("conveyor_worker_fetch_age_seconds", _GAUGE, _W, (),
               "Since the pump last looked for jobs or tried to; of the process that is worst off."),
    Definition("conveyor_worker_listening", _GAUGE, _W, (),
               "Child processes whose listener hears notifications; the others poll."),
    # -- schedulers -----------------------------------------------------------------------------------------
    Definition("conveyor_scheduler_looks_total", _COUNTER, _S, ("duty",), "Looks of a scheduler that went well."),
    Definition("conveyor_scheduler_errors_total", _COUNTER, _S, ("duty",), "Looks of a scheduler that failed."),
    Definition("conveyor_scheduler_changes_total", _COUNTER, _S, ("duty",), "Rows that a scheduler's duty changed."),
    Definition("conveyor_scheduler_look_age_seconds", _GAUGE, _S, ("duty",),
               "Since a look last went well, or the scheduler began."),
    # -- the database, seen from the web process ------------------------------------------------------------
    Definition("conveyor_queue_jobs", _GAUGE, _D, ("queue", "state"),
               "Jobs now: ready, parked, running, scheduled, blocked, failed. Large numbers are estimated."),
    Definition("conveyor_queue_oldest_ready_age_seconds", _GAUGE, _D, ("queue",),
               "How long the job in line that has been ready longest has been so; 0 where none is."),
    Definition("conveyor_queue_paused", _GAUGE, _D, ("queue",), "1 where the queue is paused, else 0."),
    Definition("conveyor_queue_workers", _GAUGE, _D, ("queue",),
               "Worker processes that take jobs of this queue: alive, and not draining."),
    Definition("conveyor_schedulers", _GAUGE, _D, (),
               "Schedulers at work, by their sessions; not told behind a pooler."),
    Definition("conveyor_cron_lateness_seconds", _GAUGE, _D, ("entry",),
               "How long the next tick of an enabled cron entry has been due; 0 where it lies ahead."),
    Definition("conveyor_cron_broken", _GAUGE, _D, (), "Enabled cron entries whose schedule cannot be read."),
    Definition("conveyor_table_bytes", _GAUGE, _D, ("table",), "Size of a table with its indexes and TOAST."),
    Definition("conveyor_table_rows", _GAUGE, _D, ("table",), "Rows, as VACUUM or ANALYZE last estimated them."),
    Definition("conveyor_table_dead_tuples", _GAUGE, _D, ("table",), "Dead row versions that VACUUM has not removed."),
    Definition("conveyor_oldest_snapshot_age_seconds", _GAUGE, _D, (),
               "Age of the oldest transaction of this database that keeps VACUUM from removing what died since."),
    Definition("conveyor_database_read", _GAUGE, _D, ("part",),
               "1 where this part of the database's numbers could be read, 0 where it failed or took too long."),
)  # fmt: skip

METRICS: Final = {definition.name: definition for definition in _ALL}
