"""Managers that record what they do as the handlers of real workers would: claims begin runs, outcomes end them."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conveyor_django.db import Connection
from conveyor_django.managers.exchange import Claim
from conveyor_django.managers.jobs import Accepted, NewJob
from conveyor_django.managers.workers import application_name
from conveyor_django.outcomes import Answer, Ended, Succeed, Token

from ...history.records import History, Store
from ...support.races import AlteredJobs

EFFECT = "INSERT INTO test_effect (name, job, token, step) VALUES (%s, %s, %s, %s)"


class RecordedJobs(AlteredJobs):
    """The manager of jobs, with handlers around: each run writes one effect with its success, and one with its step.

    A handler that is told `lost` rolls its effect back, as an atomic one does. What is asked and answered is recorded
    too: that a run was told `won` after a newer one of its job had begun is nothing that the tables need show.
    """

    def __init__(self, texts: Mapping[str, str], history: History, store: Path) -> None:
        super().__init__(texts)
        self.history = history
        self.store = Store(store)
        # What was asked to be done, by statement: its tokens.
        self.asked: dict[str, set[Token]] = {"renew_leases": set(), "end_attempts": set()}

    def enqueue_jobs(self, jobs: Sequence[NewJob], **options: Any) -> list[Accepted | None]:
        """Enqueue, and say what was accepted."""
        accepted = super().enqueue_jobs(jobs, **options)
        for job in filter(None, accepted):
            self.history.note("offer", name=name_of(job.id), key=None)
            self.history.note("accept", name=name_of(job.id), job=job.id)
        return accepted

    def claim(self, *, owner: uuid.UUID, on: Any = None, **options: Any) -> Claim:
        """Claim, and begin what was claimed."""
        _name_session(on, owner)
        claim = super().claim(owner=owner, on=on, **options)
        for job in claim.jobs:
            self.history.note("begin", job=job.id, token=job.version, name=name_of(job.id))
            accepted = self.store.put(job.id, job.version)
            self.history.note("put", job=job.id, token=job.version, accepted=accepted)
        return claim

    def succeed_jobs(
        self, outcomes: Sequence[Succeed], *, owner: uuid.UUID, now: dt.datetime | None = None, on: Any = None
    ) -> dict[Token, Answer]:
        """End the handlers, then write effects and successes in one transaction."""
        for outcome in outcomes:
            self.history.note("end", job=outcome.id, token=outcome.version)
        self._ask("succeed", [outcome.token for outcome in outcomes])
        _name_session(on, owner)
        with _transaction(on):
            answers = super().succeed_jobs(outcomes, owner=owner, now=now, on=on)
            _write_effects(on, [token for token, answer in answers.items() if answer is Answer.WON], "")
        return self._answered("succeed", answers)

    def end_attempts(
        self, outcomes: Sequence[Ended], *, owner: uuid.UUID, on: Any = None, **options: Any
    ) -> tuple[dict[Token, Answer], set[str]]:
        """End the handlers with an exception, and report it."""
        for outcome in outcomes:
            self.history.note("abort", job=outcome.id, token=outcome.version, error=outcome.error.message)
        self.asked["end_attempts"].update(outcome.token for outcome in outcomes)
        self._ask("end", [outcome.token for outcome in outcomes])
        _name_session(on, owner)
        answers, ready = super().end_attempts(outcomes, owner=owner, on=on, **options)
        return self._answered("end", answers), ready

    def renew_leases(
        self, leases: Mapping[Token, float], *, owner: uuid.UUID, on: Any = None, **options: Any
    ) -> dict[Token, tuple[Answer, bool]]:
        """Renew."""
        self.asked["renew_leases"].update(leases)
        self._ask("renew", leases)
        _name_session(on, owner)
        answers = super().renew_leases(leases, owner=owner, on=on, **options)
        self._answered("renew", {token: answer for token, (answer, _) in answers.items()})
        return answers

    def record_step(
        self, token: Token, step: str, result: str | None, *, owner: uuid.UUID, on: Any = None, **options: Any
    ) -> tuple[Answer, str | None]:
        """Take the step in one transaction with its record."""
        self._ask("record", [token])
        _name_session(on, owner)
        with _transaction(on):
            answer, recorded = super().record_step(token, step, result, owner=owner, on=on, **options)
            if answer is Answer.WON:
                _write_effects(on, [token], step)
        self._answered("record", {token: answer})
        return answer, recorded

    def hold_fence(self, token: Token, *, owner: uuid.UUID, on: Any = None) -> bool:
        """Hold the fence, and write behind it what commits with the caller's transaction."""
        self._ask("hold", [token])
        _name_session(on, owner)
        with _transaction(on):
            held = super().hold_fence(token, owner=owner, on=on)
            if held:
                on.execute(EFFECT, ("fenced", *token, None))
        self._answered("hold", {token: Answer.WON if held else Answer.LOST})
        return held

    def _ask(self, verb: str, tokens: Iterable[Token]) -> None:
        for job, version in tokens:
            self.history.note("ask", job=job, token=version, verb=verb)

    def _answered(self, verb: str, answers: dict[Token, Answer]) -> dict[Token, Answer]:
        for (job, version), answer in answers.items():
            self.history.note("answer", job=job, token=version, verb=verb, won=answer is Answer.WON)
        return answers


def _name_session(on: Connection, owner: uuid.UUID) -> None:
    """Name the session after the worker that uses it now, as a worker's own are."""
    on.execute("SELECT set_config('application_name', %s, false)", (application_name(owner, "race"),))


def name_of(job: int) -> str:
    """Return the name under which a job is offered."""
    return f"job-{job}"


@contextmanager
def _transaction(on: Connection) -> Iterator[None]:
    with on.transaction():
        yield


def _write_effects(on: Connection, tokens: Sequence[Token], step: str) -> None:
    for job, token in tokens:
        on.execute(EFFECT, (name_of(job), job, token, step))
