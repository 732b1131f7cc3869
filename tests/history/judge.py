"""One judge for all runs: it knows what producers and handlers recorded, and the final tables, and nothing else."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from .records import Put
from .rules import RULES
from .story import Story
from .tables import Tables
from .verdict import Caps, Terms, Violation

__all__ = ["Caps", "Tables", "Violation", "judge"]


def judge(
    history: Sequence[Mapping[str, Any]],
    tables: Tables,
    *,
    caps: Caps | None = None,
    puts: Sequence[Put] = (),
    with_effect: Collection[str] = (),
    periods: Mapping[str, float] | None = None,
    pruned: bool = False,
    kept_attempts: int = 100,
) -> list[Violation]:
    """Return what must not be, the worst first.

    The run has to be over, and every handler of it to have recorded as `records` says. `caps` are the exact caps that
    were in force all the time; `puts` the store's own records (`Store.puts()`); `with_effect` the names of offers whose
    handlers write an effect that commits with their success; `periods` the seconds between the ticks of cron entries
    that tick evenly; `pruned` says that jobs may have been pruned; `kept_attempts` is the setting MAX_ATTEMPT_ROWS.
    Raises BrokenHistory for a record that is none.
    """
    terms = Terms(
        caps=caps or Caps(), puts=puts, with_effect=with_effect, periods=periods or {}, pruned=pruned,
        kept_attempts=kept_attempts,
    )  # fmt: skip
    story = Story(history, tables, terms)
    return [violation for rule in RULES for violation in rule(story)]
