"""Effects in the database under test: with their commit, once, and by the token that won it (P2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from ..story import SUCCESS, Story
from ..tables import EffectRow, LedgerRow
from ..verdict import Violation


def effect_twice(story: Story) -> Iterator[Violation]:
    """An effect that commits with a success or a step is there once."""
    rows: dict[tuple[int, str], list[EffectRow]] = defaultdict(list)
    for effect in story.tables.effects:
        if effect.step is not None:
            rows[effect.job, effect.step].append(effect)
    for (job, step), effects in rows.items():
        if len(effects) > 1:
            yield Violation(
                rule="effect twice", job=job, message=f"{len(effects)} effects of {_called(step)}", seen=tuple(effects)
            )


def effect_without_its_commit(story: Story) -> Iterator[Violation]:
    """An effect is there only where the ledger has its success or its step, under the same token."""
    for effect in story.tables.effects:
        if effect.step is None or (story.terms.pruned and effect.job not in story.jobs):
            continue
        row = _ledger_row(story, effect)
        if row is None:
            what = f"the ledger has no {_called(effect.step)} of this job"
        elif row.lease_version != effect.token:
            what = f"it is of token {effect.token}, the ledger's row of {row.lease_version}"
        else:
            continue
        yield Violation(rule="effect without its commit", job=effect.job, message=what, seen=(effect, row))


def effect_missing(story: Story) -> Iterator[Violation]:
    """A success whose handler writes an effect has one."""
    found = Counter(effect.job for effect in story.tables.effects if effect.step == SUCCESS)
    for job, success in story.successes.items():
        if not found[job] and any(name in story.terms.with_effect for name in story.names.get(job, ())):
            yield Violation(rule="effect missing", job=job, message="it succeeded without its effect", seen=(success,))


def _ledger_row(story: Story, effect: EffectRow) -> LedgerRow | None:
    if effect.step == SUCCESS:
        return story.successes.get(effect.job)
    return story.steps.get((effect.job, effect.step or ""))


def _called(step: str) -> str:
    return "success" if step == SUCCESS else f"step {step!r}"
