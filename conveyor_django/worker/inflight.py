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
    # How long the handler may run, in seconds, and until when (monotonic); None: for ever.
    timeout: float | None = None
    due_at: float | None = None
    # Somebody cancelled the job, and this process has heard of it.
    cancelled: bool = False
    # The handler went on for longer than it may.
    overdue: bool = False
    # Since when the handler is being stopped for one of these two (monotonic).
    stopping_since: float | None = None
    # The outcome is certain, or being committed: nothing interrupts the handler any more.
    over: bool = False
    # The handler has returned or raised.
    ended: bool = False
    # The handler has returned, and its success waits for the commit of its group: nothing of it can be interrupted.
    resting: bool = False
    # Set by the executor while the handler can be interrupted; the second keeps what was sent from arriving.
    interrupt: Callable[[], object] | None = field(default=None, repr=False)
    shield: Callable[[], object] | None = field(default=None, repr=False)
    # A thread has taken it: it is no longer only waiting.
    _taken: bool = field(default=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def token(self) -> Token:
        """The fencing token."""
        return self.claimed.token

    @property
    def lapsed(self) -> bool:
        """Whether the lease is lost or lapsed."""
        return self.lapsed_at is not None

    @property
    def is_told(self) -> bool:
        """Whether the run was told to stop, or will be where it has not begun."""
        return self.lapsed or self.stopping_since is not None

    @property
    def must_end(self) -> bool:
        """Whether nothing of the run but a commit that came first counts any more."""
        return not self.over and self.is_told

    def take(self) -> bool:
        """Begin with it; False if it was cancelled while it waited, and must not be run."""
        with self._lock:
            self._taken = not self.cancelled
            return self._taken

    def begin(self, timeout: float | None) -> None:
        """Note that the handler begins, perhaps again, and how long it may run, in seconds; or that its commit does."""
        self.resting = False
        self.timeout = timeout
        self.due_at = None if timeout is None else time.monotonic() + timeout

    def cancel(self) -> bool:
        """Note that the job was cancelled; say whether it only waited: then it will not be run."""
        with self._lock:
            self.cancelled = True
            if self._taken and self.stopping_since is None:
                self.stopping_since = time.monotonic()
            return not self._taken

    def expire(self, now: float) -> bool:
        """Note that the handler's time is over, if it is and was not noted before; say whether that is new."""
        if self.due_at is None or now < self.due_at or self.overdue:
            return False
        self.overdue = True
        if self.stopping_since is None:
            self.stopping_since = now
        return True

    def stop(self) -> None:
        """Interrupt the handler, if one runs that can be."""
        with self._lock:
            if self.interrupt is not None and not self.over:
                self.interrupt()

    def settle(self) -> None:
        """Note that the outcome is certain, or being committed; called by the handler's own thread."""
        with self._lock:
            self.over = True
            if self.shield is not None:
                self.shield()

    def rest(self) -> None:
        """Note that the handler has returned and waits for a commit; called by its own thread, while interruptible."""
        with self._lock:
            if self.shield is not None:
                self.shield()
            self.interrupt = self.shield = None
            # Its time is over or not by what the handler took, not by what its neighbours take.
            self.resting, self.due_at = True, None

    def interruptible_by(self, interrupt: Callable[[], object] | None, shield: Callable[[], object] | None) -> None:
        """Set how the handler is interrupted and shielded from here on; after that nobody calls what was set before."""
        with self._lock:
            self.interrupt, self.shield = interrupt, shield

    def end(self) -> None:
        """Note that the handler has returned or raised."""
        with self._lock:
            self.over = self.ended = True

    def unless_ended(self, act: Callable[[], object]) -> None:
        """Do what must not be done after the handler's end."""
        with self._lock:
            if not self.ended:
                act()


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

    def to_give_back(self) -> list[Held]:
        """Return what may be given back: not a run that is being stopped, whose handler may still write."""
        return [held for held in self.all() if held.stopping_since is None or held.ended]

    def holds_job(self, job_id: int) -> bool:
        """Say whether a run of that job is held."""
        return any(token[0] == job_id for token in self.tokens())

    def running(self) -> int:
        """Return how many are held whose lease has not lapsed."""
        return sum(1 for held in self.all() if not held.lapsed)

    def wait_empty(self, timeout: float) -> bool:
        """Wait until nothing is held, at most `timeout` seconds; say whether that is so."""
        with self._lock:
            return self._empty.wait_for(lambda: not self._held, timeout)
