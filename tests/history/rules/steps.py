"""Durable steps: recorded once, by the run that took them, and not taken again after that (rule 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ..story import Story
from ..verdict import Violation


def step_twice(story: Story) -> Iterator[Violation]:
    """The ledger has one row for a job and step, and a run takes a step once."""
    rows = Counter((row.job_id, row.step) for row in story.tables.ledger)
    for (job, step), count in rows.items():
        if count > 1:
            seen = tuple(row for row in story.ledger_of(job) if row.step == step)
            yield Violation(rule="step twice", job=job, message=f"{count} ledger rows of step {step!r}", seen=seen)
    for run in story.all_runs():
        begins = run.of("step_begin")
        for step, count in Counter(line["step"] for line in begins).items():
            if count > 1:
                seen = tuple(line for line in begins if line["step"] == step)
                yield Violation(rule="step twice", job=run.job, message=f"one run took step {step!r} twice", seen=seen)


def recorded_step_ran_again(story: Story) -> Iterator[Violation]:
    """What a run recorded, no later run takes again. Earlier ones may: a zombie does not know that it is one."""
    for run in story.all_runs():
        for line in run.of("step_begin"):
            row = story.steps.get((run.job, line["step"]))
            if row is not None and run.token > row.lease_version:
                yield Violation(
                    rule="recorded step ran again", job=run.job, message=f"an earlier run recorded {line['step']!r}",
                    seen=(row, line),
                )  # fmt: skip


def step_without_a_run(story: Story) -> Iterator[Violation]:
    """A recorded step was taken to its end by the run that recorded it; an effect in its commit says so too."""
    effects = {(effect.job, effect.step, effect.token) for effect in story.tables.effects}
    for row in story.steps.values():
        run = story.run(row.job_id, row.lease_version)
        ended = any(line["step"] == row.step for line in run.of("step_end"))
        if not ended and (row.job_id, row.step, row.lease_version) not in effects:
            yield Violation(
                rule="step without a run", job=row.job_id, message="nothing says that this run took it",
                seen=(row, *run.lines),
            )  # fmt: skip
