"""The checker: names the first step of a log that the model forbids."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .commits import settle
from .log import Row, Step
from .model import Forbidden, Rules, Transaction, World, in_order
from .rows import apply_change


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A step that no verb explains: which commit, by which statement, of which job, and the guard that refuses it."""

    number: int
    xid: int
    guard: str
    job: int | None
    statement: str
    application: str
    table: str
    old: Row | None
    new: Row | None

    def __str__(self) -> str:
        where = f"commit {self.number} (transaction {self.xid})"
        who = f"{self.statement or 'no statement'} of session {self.application!r}"
        return f"{where}: job {self.job}: {self.guard}; {who} wrote {self.table}: {self._written()}"

    def _written(self) -> str:
        """Return what the change wrote, as ``column: old > new``; a whole row where it was inserted or deleted."""
        if self.old is None or self.new is None:
            return f"{self.old} > {self.new}"
        return ", ".join(f"{name}: {self.old[name]} > {new}" for name, new in self.new.items() if self.old[name] != new)


def check(log: Iterable[Step], rules: Rules | None = None) -> Refusal | None:
    """Return the first step that the model forbids, None for a run that it allows.

    The log begins with what was there when it was installed. `rules` are the run's settings, by default Conveyor's own.
    """
    world = World(rules or Rules())
    number = 0
    for step in log:
        try:
            if step.number <= number:
                raise Forbidden("commits are numbered in their order", None)
            number = step.number
            apply_step(world, step)
        except Forbidden as forbidden:
            return _refusal(step, forbidden)
    return None


def apply_step(world: World, step: Step) -> None:
    """Make the step's changes in the world. Raises Forbidden."""
    world.see_caps(step.at)
    tx = Transaction(world, step)
    for change in in_order(world, step.changes):
        apply_change(tx, change)
    settle(tx)


def _refusal(step: Step, forbidden: Forbidden) -> Refusal:
    change = forbidden.change or (step.changes[0] if step.changes else None)
    return Refusal(
        number=step.number, xid=step.xid, guard=forbidden.guard, job=forbidden.job,
        statement=change.statement if change else "", application=change.application if change else "",
        table=change.table if change else "", old=change.old if change else None, new=change.new if change else None,
    )  # fmt: skip
