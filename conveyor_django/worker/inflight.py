"""The jobs that a worker process holds: claimed, and not yet answered for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..outcomes import Claimed, Token


@dataclass(slots=True, eq=False)
class Held:
    """One claimed job and what this process knows of its lease.

    `deadline` is on the monotonic clock, counted from before the claim or renewal was sent: the database cannot
    have given the lease any earlier (rule 13).
    """

    claimed: Claimed
    deadline: float
    # Place on the board, once started.
    place: int | None = None
    # When the lease was found lost or lapsed (monotonic): the handler is being stopped.
    lapsed_at: float | None = None
    # The handler has ended by itself; its outcome is on its way, or being committed.
    over: bool = False
    # Set by the executor while the handler can be interrupted.
    interrupt: Callable[[], object] | None = field(default=None, repr=False)

    @property
    def token(self) -> Token:
        """The fencing token."""
        return self.claimed.token

    @property
    def lapsed(self) -> bool:
        """Whether the lease is lost or lapsed."""
        return self.lapsed_at is not None

    def stop(self) -> None:
        """Interrupt the handler, if one runs that can be."""
        if (interrupt := self.interrupt) is not None:
            interrupt()


class InFlight:
    """The held jobs by token; every method is safe to call from any thread."""

    def __init__(self) -> None:
        self._held: dict[Token, Held] = {}
        self._lock = threading.Lock()
        self._empty = threading.Condition(self._lock)

    def __len__(self) -> int:
        return len(self._held)

    def add(self, claimed: Iterable[Claimed], sent_at: float) -> list[Held]:
        """Hold what was claimed by a statement sent at `sent_at` (monotonic)."""
        added = [Held(job, sent_at + job.lease_seconds) for job in claimed]
        with self._lock:
            self._held.update((held.token, held) for held in added)
        return added

    def drop(self, token: Token) -> Held | None:
        """Forget a job; None if it was not held."""
        with self._lock:
            held = self._held.pop(token, None)
            if not self._held:
                self._empty.notify_all()
        return held

    def get(self, token: Token) -> Held | None:
        """Return the held job of that token, or None."""
        return self._held.get(token)

    def all(self) -> list[Held]:
        """Return the held jobs."""
        with self._lock:
            return list(self._held.values())

    def tokens(self) -> list[Token]:
        """Return the tokens of the held jobs."""
        with self._lock:
            return list(self._held)

    def leases(self) -> dict[Token, float]:
        """Return {token: lease in seconds} of what is to be renewed."""
        return {held.token: held.claimed.lease_seconds for held in self.all() if not held.lapsed}

    def renewed(self, tokens: Iterable[Token], sent_at: float) -> None:
        """Move the deadlines of leases renewed by a statement sent at `sent_at` (monotonic)."""
        for token in tokens:
            if held := self._held.get(token):
                held.deadline = sent_at + held.claimed.lease_seconds

    def expired(self) -> list[Held]:
        """Return the jobs whose local deadline has passed and that are not marked yet."""
        now = time.monotonic()
        return [held for held in self.all() if held.deadline <= now and not held.lapsed]

    def lapse(self, held: Held) -> bool:
        """Mark a job's lease as gone; False if it was marked before."""
        with self._lock:
            first = not held.lapsed
            if first:
                held.lapsed_at = time.monotonic()
        return first

    def stubborn(self) -> list[Held]:
        """Return the runs that go on a whole lease after it had lapsed: their handlers cannot be stopped."""
        now = time.monotonic()
        return [
            held
            for held in self.all()
            if held.lapsed_at is not None and not held.over and now - held.lapsed_at > held.claimed.lease_seconds
        ]

    def running(self) -> int:
        """Return how many are held whose lease has not lapsed."""
        return sum(1 for held in self.all() if not held.lapsed)

    def wait_empty(self, timeout: float) -> bool:
        """Wait until nothing is held, at most `timeout` seconds; say whether that is so."""
        with self._lock:
            return self._empty.wait_for(lambda: not self._held, timeout)
