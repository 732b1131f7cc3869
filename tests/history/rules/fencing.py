"""Fencing tokens: one run, one owner, growing; as an external store that refuses old ones sees them (P6).

That a token's first record comes after that of a newer one is no violation: a frozen process records late.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ..records import Put
from ..story import Line, Run, Story
from ..verdict import Violation


def token_of_two_runs(story: Story) -> Iterator[Violation]:
    """One token is one run: its handler begins once."""
    for run in story.all_runs():
        begins = run.of("begin")
        if len(begins) > 1:
            yield Violation(
                rule="token of two runs", job=run.job, message=f"token {run.token} began {len(begins)} times",
                seen=tuple(begins),
            )  # fmt: skip


def token_of_two_owners(story: Story) -> Iterator[Violation]:
    """All that is written under one token is one owner's."""
    rows: dict[tuple[int, int], list[Any]] = defaultdict(list)
    for row in (*story.tables.ledger, *story.tables.attempts):
        rows[row.job_id, row.lease_version].append(row)
    for (job, version), written in rows.items():
        if len({row.owner for row in written}) > 1:
            yield Violation(
                rule="token of two owners", job=job, message=f"several wrote under {version}", seen=tuple(written)
            )


def token_never_given(story: Story) -> Iterator[Violation]:
    """A token is one of the claims of the job's row: from 1 to its lease version."""
    written: dict[int, list[tuple[int, Any]]] = defaultdict(list)
    for run in story.all_runs():
        written[run.job] += [(run.token, line) for line in run.lines]
    for row in (*story.tables.ledger, *story.tables.attempts):
        written[row.job_id].append((row.lease_version, row))
    for effect in story.tables.effects:
        written[effect.job].append((effect.token, effect))
    for job, entries in written.items():
        row = story.jobs.get(job)
        wrong = tuple(entry for token, entry in entries if row and not 1 <= token <= row.lease_version)
        if wrong:
            yield Violation(rule="token never given", job=job, message="no claim gave it", seen=(row, *wrong))


def stale_token_won(story: Story) -> Iterator[Violation]:
    """Who asks after a newer run of the job has begun has lost, whatever is asked for."""
    for ask, answer in story.answered:
        later = [
            run.begin for token, run in story.runs.get(ask["job"], {}).items()
            if token > ask["token"] and run.begin is not None and run.begin.number < ask.number
        ]  # fmt: skip
        if answer["won"] and later:
            yield Violation(
                rule="stale token won", job=ask["job"], message=f"run {ask['token']} was told so ({ask['verb']})",
                seen=(later[0], ask, answer),
            )  # fmt: skip


def store_took_a_stale_token(story: Story) -> Iterator[Violation]:
    """A put that came after one of a newer token was refused: by the store's order, and by that of the history."""
    highest: dict[int, Put] = {}
    for put in story.terms.puts:
        newest = highest.get(put.job, put)
        if put.accepted and put.token < newest.token:
            yield _stale(put.job, newest, put)
        if put.accepted:
            highest[put.job] = max(put, newest, key=lambda seen: seen.token)
    for runs in story.runs.values():
        yield from _stale_by_history(list(runs.values()))


def _stale_by_history(runs: list[Run]) -> Iterator[Violation]:
    """Find puts that were sent, by what their run recorded just before, after the answer to a newer one."""
    taken = [(run.token, line) for run in runs for line in run.of("put") if line["accepted"]]
    for run in runs:
        for before, put in zip(run.lines, run.lines[1:], strict=False):
            if put["event"] != "put" or not put["accepted"]:
                continue
            for token, newer in taken:
                if token > run.token and newer.number < before.number:
                    yield _stale(run.job, newer, before, put)


def store_refused_the_newest(story: Story) -> Iterator[Violation]:
    """Nothing was newer than the run that succeeded, so the store took all that it put."""
    for success in story.successes.values():
        refused = [
            put for put in story.run(success.job_id, success.lease_version).of("put") if not put["accepted"]
        ]  # fmt: skip
        if refused:
            yield Violation(
                rule="store refused the newest", job=success.job_id, message="it had seen a newer token than this",
                seen=(success, *refused),
            )  # fmt: skip


def _stale(job: int, *seen: Put | Line) -> Violation:
    return Violation(rule="store took a stale token", job=job, message="accepted after a newer token", seen=seen)
