"""The one module of the worker that writes outcomes: the last batch and the next claim in one round trip."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from ..conf import ConveyorSettings
from ..db import Connection, is_transient
from ..log import event, get_logger
from ..managers.base import Row
from ..managers.exchange import (
    Claim,
    answers_from,
    claim_from,
    claim_params,
    end_params,
    ready_queues,
    succeed_params,
)
from ..outcomes import Answer, Claimed, Committed, Ended, Outcome, Succeed, Token
from ..pipeline import Pipeline
from . import decide

logger = get_logger("worker.finisher")


@dataclass(slots=True)
class Turn:
    """What one round trip brought."""

    answers: dict[Token, Answer] = field(default_factory=dict)
    claim: Claim = field(default_factory=Claim)
    # How many jobs the claim asked for; 0 if there was no claim.
    asked: int = 0
    # Whether the claim was a plain one.
    plain: bool = False
    # Queues in which the written outcomes made a job ready.
    ready: set[str] = field(default_factory=set)
    # When the claim was sent (monotonic): leases are counted from here.
    sent_at: float = 0.0

    def has_ended(self, token: Token) -> bool:
        """Say whether this run is over by the database's answer, whoever has ended it."""
        return self.answers.get(token, Answer.BUSY) is not Answer.BUSY


class Finisher:
    """Writes batches of outcomes, fenced, for one owner; a bad one never blocks the rest (rule 3)."""

    def __init__(self, *, owner: uuid.UUID, settings: ConveyorSettings) -> None:
        self._owner = owner
        self._settings = settings
        # Of the connection that was used last.
        self._pipeline: Pipeline | None = None

    def turn(
        self,
        connection: Connection,
        outcomes: Sequence[tuple[Claimed, Outcome]],
        *,
        queues: Mapping[str, float],
        limit: int,
        plain: bool = False,
    ) -> Turn:
        """Write `outcomes` and claim up to `limit` jobs, in one transaction and one round trip.

        `plain`: by claim_plain_jobs, which leaves alone what a cap, a key or a pause may keep from running.
        A transient error passes through: nothing is known then, and the same outcomes are to be given again.
        """
        try:
            return self._exchange(connection, [outcome for _, outcome in outcomes], queues, limit, plain=plain)
        except psycopg.Error as error:
            if is_transient(error) or connection.closed or not outcomes:
                raise
            return self._bisect(connection, outcomes, error)

    def _bisect(
        self, connection: Connection, outcomes: Sequence[tuple[Claimed, Outcome]], error: psycopg.Error
    ) -> Turn:
        """Find the outcome that the database refuses, and write the failure of its job in its place."""
        if len(outcomes) == 1:
            claimed, outcome = outcomes[0]
            event(
                logger, logging.ERROR, "outcome.unwritable",
                job=claimed.id, version=claimed.version, task=claimed.task, verb=outcome.verb, error=str(error),
            )  # fmt: skip
            return self._exchange(connection, [decide.unwritable(claimed, error)], {}, 0)
        half = len(outcomes) // 2
        whole = Turn()
        for part in (outcomes[:half], outcomes[half:]):
            turn = self.turn(connection, part, queues={}, limit=0)
            whole.answers |= turn.answers
            whole.ready |= turn.ready
        return whole

    def _exchange(
        self,
        connection: Connection,
        outcomes: Sequence[Outcome],
        queues: Mapping[str, float],
        limit: int,
        *,
        plain: bool = False,
    ) -> Turn:
        """Send what there is to send in one pipeline, then read the answers."""
        turn = Turn(sent_at=time.monotonic())
        # An atomic handler's own transaction has written its outcome.
        turn.answers = {o.token: Answer.WON for o in outcomes if isinstance(o, Committed)}
        successes = [o for o in outcomes if isinstance(o, Succeed) and not isinstance(o, Committed)]
        ended = [o for o in outcomes if isinstance(o, Ended)]
        requests = []
        if successes:
            requests.append(("succeed_jobs", succeed_params(successes, self._owner)))
        if ended:
            keep, bound = self._settings.max_attempt_rows, self._settings.max_releases
            requests.append(("end_attempts", end_params(ended, self._owner, keep, bound)))
        if limit > 0 and queues:
            requests.append(self._claim(queues, limit, plain=plain))
            turn.plain = plain
            turn.asked = limit
        for name, rows in zip([r[0] for r in requests], self._send(connection, requests), strict=True):
            if name in {"claim_jobs", "claim_plain_jobs"}:
                turn.claim = claim_from(rows)
                continue
            turn.answers |= answers_from(rows)
            if name == "end_attempts":
                turn.ready = ready_queues(rows)
        return turn

    def _claim(self, queues: Mapping[str, float], limit: int, *, plain: bool) -> tuple[str, dict[str, Any]]:
        params = claim_params(self._owner, queues, limit)
        if not plain:
            return "claim_jobs", params
        del params["park"]
        return "claim_plain_jobs", params

    def _send(self, connection: Connection, requests: list[tuple[str, dict[str, Any]]]) -> list[list[Row]]:
        """Run the statements in one transaction."""
        if not requests:
            return []
        if self._pipeline is None or self._pipeline.connection is not connection:
            self._pipeline = Pipeline(connection)
        return self._pipeline.run(requests)
