"""Which check catches which mutant of the SQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from conveyor_django.db import Connection

from ...concurrency.mutants import Mutant
from ...support.connections import opened_connections
from ...support.schema import drop_schema
from .evidence import (
    ANSWERS,
    CONSTRAINT,
    JUDGE,
    LOCKS,
    RACE,
    SCHEMA,
    TRACE,
    TRIGGER,
    Evidence,
    guard_transitions,
    make_schema,
    play,
)
from .model import counterparts
from .more import COVERED, SCENARIOS

COLUMNS: Final = (RACE, LOCKS, JUDGE, ANSWERS, TRACE, TRIGGER, CONSTRAINT)
# Who has to catch a mutant: what a fault scenario shows. The races' own assertions and the database are beside that.
COUNTS: Final = frozenset({LOCKS, JUDGE, ANSWERS, TRACE})


@dataclass(frozen=True, kw_only=True)
class Line:
    """One mutant: the statements that it alters, the model's mutants of the same guard, and who said what of it."""

    mutant: str
    statements: list[str]
    model: list[str]
    races: list[str]
    said: dict[str, str]

    @property
    def is_caught(self) -> bool:
        """Whether the judge, the answers, the trace or a lock that is waited for shows it."""
        return not COUNTS.isdisjoint(self.said)

    def __str__(self) -> str:
        marks = "".join(f"{'x' if column in self.said else '·':^{len(column) + 2}}" for column in COLUMNS)
        return f"{marks} {self.mutant}"


HEADING: Final = "".join(f"{column:^{len(column) + 2}}" for column in COLUMNS) + " mutant"


def lines(mutants: Sequence[Mutant], watcher: Connection) -> Iterator[Line]:
    """Play every race of each mutant; yield what came of it.

    What is said of a race with the statements as they are does not count: a race that rolls back what its handlers have
    seen looks like a loss to the judge.
    """
    controls: dict[str, Evidence] = {}
    tables = Tables()
    for mutant in mutants:
        evidence = Evidence()
        for name in mutant.caught_by:
            if name not in controls:
                tables.be()
                controls[name] = play(SCENARIOS[name], {}, watcher)
            for guarded in (False, True):
                tables.be(without_index=mutant.without_index, guarded=guarded)
                seen = play(SCENARIOS[name], mutant.texts, watcher, without_index=mutant.without_index)
                for who, what in seen.said.items():
                    # With the trigger a race ends where it refuses: only that it does is new.
                    if who not in controls[name].said and (not guarded or who in {TRIGGER, CONSTRAINT}):
                        evidence.add(who, what)
        yield Line(
            mutant=mutant.what, statements=sorted(mutant.texts), model=counterparts(mutant.what),
            races=list(mutant.caught_by), said=evidence.said,
        )  # fmt: skip
    with opened_connections() as connect:
        drop_schema(connect(), SCHEMA)


class Tables:
    """The tables of the races, made anew only where they must be others: a race empties them."""

    index: str | None = None

    def be(self, *, without_index: str = "", guarded: bool = False) -> None:
        """Have the tables so."""
        with opened_connections() as connect:
            if self.index != without_index:
                make_schema(connect(), without_index=without_index)
                self.index = without_index
            guard_transitions(connect(), guarded=guarded)


def write(results: Sequence[Line], path: Path) -> None:
    """Write all lines to a file, whose folder need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [asdict(line) | {"caught": line.is_caught, "covered": COVERED.get(line.mutant)} for line in results]
    path.write_text(json.dumps(entries, indent=2) + "\n")
