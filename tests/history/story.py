"""A history and the tables of its run, laid out by job and run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

from .records import BrokenHistory
from .tables import AttemptRow, EdgeRow, JobRow, LedgerRow, Tables
from .verdict import Terms

SUCCESS: Final = ""
# Whoever writes these has seen the handler end, so its last record comes before. A lost or a given-back run may go on.
OWN_ENDINGS: Final = frozenset({"retry", "snooze", "fail", "cancel"})


class Line(NamedTuple):
    """A record, and the number of its line, which is its place in time."""

    number: int
    record: Mapping[str, Any]

    def __getitem__(self, name: Any) -> Any:
        return self.record[name]

    def __str__(self) -> str:
        fields = (f"{name}={value!r}" for name, value in self.record.items() if name not in {"event", "at"})
        return f"line {self.number}: {self.record['event']} {' '.join(fields)}"


@dataclass(slots=True)
class Run:
    """What one run's handler recorded: one (job, token) is one run."""

    job: int
    token: int
    lines: list[Line] = field(default_factory=list)
    _by_event: dict[str, list[Line]] = field(default_factory=dict)

    def take(self, line: Line) -> None:
        """Add a line."""
        self.lines.append(line)
        self._by_event.setdefault(line["event"], []).append(line)

    def of(self, event: str) -> list[Line]:
        """Return its lines of an event."""
        return self._by_event.get(event, [])

    @property
    def begin(self) -> Line | None:
        """Return its first begin."""
        return next(iter(self.of("begin")), None)

    @property
    def last(self) -> Line | None:
        """Return the last record that came before its own outcome: the first commit, else the last end or abort."""
        if commits := self.of("commit"):
            return commits[0]
        return max((*self.of("end"), *self.of("abort")), key=lambda line: line.number, default=None)


class Asked(NamedTuple):
    """What a worker asked of the database, and what it was told."""

    ask: Line
    answer: Line


class Story:
    """Everything that the rules look at."""

    def __init__(self, history: Sequence[Mapping[str, Any]], tables: Tables, terms: Terms) -> None:
        """Lay it out. Raises BrokenHistory for an event that is none, or without its fields."""
        self.tables = tables
        self.terms = terms
        self.runs: dict[int, dict[int, Run]] = defaultdict(dict)
        self.offers: dict[str, list[Line]] = defaultdict(list)
        self.accepts: list[Line] = []
        self.requeued: set[int] = set()
        # What was asked for, by job: its tokens and verbs; and with the answers.
        self.asks: dict[int, set[tuple[int, str]]] = defaultdict(set)
        self.answered: list[Asked] = []
        self._unanswered: dict[tuple[int, int, str], list[Line]] = defaultdict(list)
        for number, record in enumerate(history, 1):
            try:
                self._take(Line(number, record))
            except KeyError as error:
                raise BrokenHistory(f"line {number} has no {error}: {record}") from error

    def _take(self, line: Line) -> None:
        match line["event"]:
            case "offer":
                self.offers[line["name"]].append(line)
            case "accept":
                self.accepts.append(line)
            case "requeue":
                self.requeued.add(line["job"])
            case "begin" | "commit" | "end" | "abort" | "step_begin" | "step_end" | "put":
                job, token = line["job"], line["token"]
                self._run(job, token).take(line)
            case "ask":
                self.asks[line["job"]].add((line["token"], line["verb"]))
                self._unanswered[line["job"], line["token"], line["verb"]].append(line)
            case "answer":
                self._answer(line)
            case "refuse" | "fault" | "healed":
                pass
            case unknown:
                raise BrokenHistory(f"line {line.number}: nobody records {unknown!r}")

    def _answer(self, line: Line) -> None:
        asks = self._unanswered[line["job"], line["token"], line["verb"]]
        if not asks:
            raise BrokenHistory(f"line {line.number}: nobody asked for {line.record}")
        # Of several the first: what is held against a late ask must not be the answer to an earlier one.
        self.answered.append(Asked(asks.pop(0), line))

    def _run(self, job: int, token: int) -> Run:
        runs = self.runs[job]
        if token not in runs:
            runs[token] = Run(job, token)
        return runs[token]

    @cached_property
    def jobs(self) -> dict[int, JobRow]:
        """The rows of the jobs, by id."""
        return {row.id: row for row in self.tables.jobs}

    @cached_property
    def successes(self) -> dict[int, LedgerRow]:
        """The ledger's rows of successes, by job."""
        return {row.job_id: row for row in self.tables.ledger if row.step == SUCCESS}

    @cached_property
    def steps(self) -> dict[tuple[int, str], LedgerRow]:
        """The ledger's rows of durable steps, by job and step."""
        return {(row.job_id, row.step): row for row in self.tables.ledger if row.step != SUCCESS}

    @cached_property
    def attempts(self) -> dict[tuple[int, int], AttemptRow]:
        """The Attempt rows, by job and version."""
        return {(row.job_id, row.lease_version): row for row in self.tables.attempts}

    @cached_property
    def _rows(self) -> dict[type, dict[int, list[Any]]]:
        rows: dict[type, dict[int, list[Any]]] = {LedgerRow: defaultdict(list), AttemptRow: defaultdict(list)}
        for row in (*self.tables.ledger, *self.tables.attempts):
            rows[type(row)][row.job_id].append(row)
        return rows

    def ledger_of(self, job: int) -> list[LedgerRow]:
        """Return the ledger's rows of a job."""
        return self._rows[LedgerRow].get(job, [])

    def attempts_of(self, job: int) -> list[AttemptRow]:
        """Return a job's Attempt rows."""
        return self._rows[AttemptRow].get(job, [])

    @cached_property
    def needs(self) -> dict[int, list[EdgeRow]]:
        """The edges, by the job that needs."""
        needs = defaultdict(list)
        for edge in self.tables.edges:
            needs[edge.job_id].append(edge)
        return needs

    @cached_property
    def names(self) -> dict[int, set[str]]:
        """The names under which each job was accepted."""
        names = defaultdict(set)
        for accept in self.accepts:
            names[accept["job"]].add(accept["name"])
        return names

    def run(self, job: int, token: int) -> Run:
        """Return what a run recorded; one that recorded nothing is empty."""
        return self.runs.get(job, {}).get(token) or Run(job, token)

    def all_runs(self) -> Iterator[Run]:
        """Return every run that recorded something."""
        for runs in self.runs.values():
            yield from runs.values()

    def has_won(self, run: Run) -> bool:
        """Say whether the run's own outcome was taken: it held its lease from its claim until then."""
        success, attempt = self.successes.get(run.job), self.attempts.get((run.job, run.token))
        return (success is not None and success.lease_version == run.token) or (
            attempt is not None and attempt.verb in OWN_ENDINGS
        )
