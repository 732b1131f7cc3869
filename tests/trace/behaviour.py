"""The log of a small run as a module of TLA+, for TLC to hold it against `spec/tla/Conveyor.tla` itself.

The model changes one job at a time, so a transaction is taken apart into its jobs' changes; a retry without a delay is
the model's retry and its promotion. Leases, priorities, parking and clocks are not in the model's rows.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from spec.configurations import Configuration
from spec.tlc import Outcome, Tools, run

from .log import BASE, Change, Row, Step

SPEC: Final = Path(__file__).parents[2] / "spec" / "tla"
_MODULES: Final = ("Conveyor.tla", "Trace.tla")
_NEW: Final[Row] = {
    "state": "new", "lease_owner": None, "lease_version": 0, "attempt": 0, "lost_count": 0, "release_count": 0,
    "cancel_requested_at": None,
}  # fmt: skip
# Of these the model puts a job off, whatever the delay.
_PUT_OFF: Final = ("retry", "snooze")
# What a run may do only so often, by the statement that shows it.
_BUDGETS: Final = {
    "rescue_jobs": "Lapses", "rescue_owner": "Crashes", "release_unknown": "Losses", "cancel_job": "Cancels",
    "requeue_jobs": "Requeues", "prune_jobs": "Prunes",
}  # fmt: skip


@dataclass
class Behaviour:
    """What is known of the database while the log is read, and the entries so far."""

    jobs: list[int]
    owners: list[str]
    rows: dict[int, Row] = field(default_factory=dict)
    ledger: set[tuple[int, str, int]] = field(default_factory=set)
    attempts: set[tuple[int, int]] = field(default_factory=set)
    entries: list[str] = field(default_factory=list)
    verbs: Counter[str] = field(default_factory=Counter)

    def read(self, step: Step) -> None:
        """Add the entries of one transaction."""
        verbs = {
            (change.new["job_id"], change.new["lease_version"]): change.new["verb"]
            for change in step.changes
            if change.table == "conveyor_attempt" and change.new is not None
        }
        for change in step.changes:
            if change.table == "conveyor_ledger" and change.new is not None and change.new["step"]:
                self.ledger.add((change.new["job_id"], change.new["step"], change.new["lease_version"]))
                self._show()
            elif change.table == "conveyor_job":
                self._job(change, verbs)

    def _job(self, change: Change, verbs: dict[tuple[int, int], str]) -> None:
        old, new = change.old, change.new
        if new is None:
            assert old is not None
            self._prune(old["id"])
            return
        job = new["id"]
        if old is not None and (old["state"], new["state"]) == ("running", "succeeded"):
            self.ledger.add((job, "", old["lease_version"]))
            self.verbs["succeed"] += 1
        elif old is not None and old["state"] == "running" != new["state"]:
            verb = verbs[job, old["lease_version"]]
            self.attempts.add((job, old["lease_version"]))
            self.verbs[verb] += 1
            if verb in _PUT_OFF and new["state"] == "ready":
                self.rows[job] = new | {"state": "scheduled"}
                self._show()
        self.rows[job] = new
        self._show()

    def _prune(self, job: int) -> None:
        self.rows[job] = _NEW | {"state": "gone"}
        self.ledger = {row for row in self.ledger if row[0] != job}
        self.attempts = {row for row in self.attempts if row[0] != job}
        self._show()

    def _show(self) -> None:
        rows = ", ".join(self._row(self.rows.get(job, _NEW)) for job in self.jobs)
        ledger = ", ".join(
            f'<<{self._number(job)}, "{step}", {version}>>' for job, step, version in sorted(self.ledger)
        )
        attempts = ", ".join(f"<<{self._number(job)}, {version}>>" for job, version in sorted(self.attempts))
        entry = f"[job |-> <<{rows}>>, ledger |-> {{{ledger}}}, attempts |-> {{{attempts}}}]"
        # A renewal, or parking: nothing that the model has.
        if not self.entries or self.entries[-1] != entry:
            self.entries.append(entry)

    def _row(self, row: Row) -> str:
        owner = row["lease_owner"]
        values: dict[str, Any] = {
            "state": f'"{row["state"]}"', "worker": self.owners.index(owner) + 1 if owner else 0,
            "version": row["lease_version"], "attempt": row["attempt"], "lost": row["lost_count"],
            "releases": row["release_count"], "cancel": str(row["cancel_requested_at"] is not None).upper(),
        }  # fmt: skip
        return f"[{', '.join(f'{name} |-> {value}' for name, value in values.items())}]"

    def _number(self, job: int) -> int:
        return self.jobs.index(job) + 1


def behaviour_of(log: Sequence[Step]) -> Behaviour:
    """Return the entries of a log that begins without jobs. Raises ValueError where it does not."""
    changes = list(_job_changes(log))
    if any(change.op == BASE for change in changes):
        raise ValueError("a behaviour begins without jobs")
    rows = [change.new for change in changes if change.new is not None]
    behaviour = Behaviour(
        jobs=sorted({row["id"] for row in rows}), owners=sorted({row["lease_owner"] for row in rows} - {None})
    )
    for step in log:
        behaviour.read(step)
    return behaviour


def _job_changes(log: Iterable[Step]) -> Iterator[Change]:
    return (change for step in log for change in step.changes if change.table == "conveyor_job")


def _configuration(log: Sequence[Step], behaviour: Behaviour, *, max_lost: int, max_releases: int) -> str:
    """Return what TLC is told: the sizes of the run, and each misfortune as often as the log has it."""
    times = Counter(change.statement for change in _job_changes(log))
    budgets = {name: times[statement] for statement, name in _BUDGETS.items()}
    verbs = {"succeed", *behaviour.verbs} - {"rescue"}
    steps = {step for _, step, _ in behaviour.ledger if step}
    constants = budgets | {
        "Jobs": _set(range(1, len(behaviour.jobs) + 1)), "Workers": _set(range(1, len(behaviour.owners) + 1)),
        "Steps": _set(f'"{step}"' for step in steps), "Verbs": _set(f'"{verb}"' for verb in verbs), "Killers": "{}",
        "AtOnce": "FALSE", "Slots": len(behaviour.jobs), "Cap": 0, "MaxAttempts": 5, "MaxLost": max_lost,
        "MaxReleases": max_releases, "Snapshots": "FALSE", "Transactions": "FALSE",
        "Snoozes": behaviour.verbs["snooze"], "Failovers": 0,
    }  # fmt: skip
    given = "\n".join(f"    {name} = {value}" for name, value in constants.items())
    return (
        f"INIT TraceInit\nNEXT TraceNext\nCONSTANTS\n    Edges <- NoEdges\n    Log <- TheLog\n{given}\n"
        "CONSTRAINT Reached\nINVARIANT Unfinished\n"
    )


def _set(values: Iterable[object]) -> str:
    return f"{{{', '.join(sorted(map(str, values)))}}}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What TLC says of a log: whether the model allows it, how many entries it has, and how far any behaviour came."""

    allowed: bool
    entries: int
    reached: int
    outcome: Outcome


def ask_tlc(
    log: Sequence[Step], tools: Tools, *, max_lost: int, max_releases: int, limit: float | None = None
) -> Answer:
    """Let TLC look for a behaviour that shows the log. Raises ValueError where TLC has no answer."""
    behaviour = behaviour_of(log)
    with tempfile.TemporaryDirectory(prefix="conveyor-trace-") as place:
        folder = Path(place)
        for module in _MODULES:
            shutil.copy(SPEC / module, folder)
        listed = ",\n    ".join(behaviour.entries)
        sample, config = folder / "Sample.tla", folder / "Sample.cfg"
        sample.write_text(f"---- MODULE Sample ----\nEXTENDS Trace\nTheLog == <<\n    {listed}\n>>\n====\n")
        config.write_text(_configuration(log, behaviour, max_lost=max_lost, max_releases=max_releases))
        configuration = Configuration(name="sample", path=config, module=sample, about="", may_deadlock=True)
        outcome = run(configuration, tools, limit=limit)
    if outcome.found not in (None, "Unfinished") or outcome.error is not None:
        raise ValueError(f"TLC has no answer: {outcome.error or outcome.found}\n{outcome.output[-2000:]}")
    reached = max((int(line.split()[1].rstrip(">")) for line in _reached(outcome.output)), default=0)
    return Answer(
        allowed=outcome.found == "Unfinished", entries=len(behaviour.entries), reached=reached, outcome=outcome
    )


def _reached(output: str) -> list[str]:
    return [line for line in output.splitlines() if line.startswith('<<"reached"')]
