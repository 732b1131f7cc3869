"""What the judge is told of a run, and what it says."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .records import Put


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """How many runs may go on at once: `queues` for each queue, `keys` for each concurrency key of a queue."""

    queues: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was agreed on for a run (`judge` says what each means)."""

    caps: Caps = field(default_factory=Caps)
    puts: Sequence[Put] = ()
    with_effect: Collection[str] = ()
    periods: Mapping[str, float] = field(default_factory=dict)
    pruned: bool = False
    kept_attempts: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What must not be: the rule's name, the job (None where it is of none), and the lines and rows that say so."""

    rule: str
    job: int | None
    message: str
    seen: tuple[Any, ...] = ()

    def __str__(self) -> str:
        of = "" if self.job is None else f", job {self.job}"
        return "\n".join([f"{self.rule}{of}: {self.message}", *(f"    {what}" for what in self.seen)])
