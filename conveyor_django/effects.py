"""What one run of a job may write: every write here goes through only while the lease is the run's (P2)."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol

from .errors import JobCancelled, LeaseLost, LeftOpen, NotAllowedHere, TaskTimeout
from .log import event, get_logger
from .managers.jobs import JobManager
from .outcomes import Answer, Claimed, Committed
from .retry import exponential_delay
from .spans.parts import part
from .stored import result_text
from .transactions import is_open, kept_whole, on_event_loop, read_committed, refuse_if_gone

if TYPE_CHECKING:
    from .spans.otel import Spans

logger = get_logger("effects")

# Between two tries to write to a row that somebody holds for a moment.
FIRST_WAIT: Final = 0.002
LONGEST_WAIT: Final = 0.1


class Lease(Protocol):
    """What a run knows of its lease; `deadline` is on the monotonic clock.

    `over` says that the run's outcome is certain, or being committed: a job that is no longer this run's is no loss.
    `cancelled` says that somebody cancelled the job while it runs, `overdue` that the run went on for longer than its
    `timeout` in seconds.
    """

    claimed: Claimed
    deadline: float
    over: bool
    cancelled: bool
    overdue: bool
    timeout: float | None

    @property
    def lapsed(self) -> bool:
        """Whether it is known to be lost."""
        ...

    def settle(self) -> None:
        """Set `over`: from here on nothing interrupts the handler."""
        ...


class Effect:
    """The open transaction of an effect; `result` becomes the job's result, and has to be JSON."""

    __slots__ = ("result",)

    def __init__(self) -> None:
        self.result: Any = None


class Fence:
    """The fenced writes of one run, on the job's database; each raises LeaseLost where the lease is another's."""

    def __init__(self, lease: Lease, *, owner: uuid.UUID, alias: str, atomic: bool = False) -> None:
        self.lease = lease
        self.alias = alias
        # Whether the whole run is one transaction, which `success` opens.
        self.atomic = atomic
        self._owner = owner
        # The success, once its transaction has committed, and the result in it: the job has ended.
        self.committed: Committed | None = None
        self.result: Any = None
        # What makes the spans of its parts, below the run's; None where none are made.
        self.spans: Spans | None = None

    @property
    def claimed(self) -> Claimed:
        """The job, as it was claimed."""
        return self.lease.claimed

    @contextmanager
    def effect(self) -> Iterator[Effect]:
        """Do as `success`, for a part of a handler. Raises NotAllowedHere where it cannot be one commit."""
        self.refuse_on_event_loop("effect()", "Put the block into a function and `await sync_to_async(function)(...)`")
        if self.atomic:
            raise NotAllowedHere(
                f"{self.claimed.task}: effect() cannot be used in an atomic=True task, all of which is one effect "
                f"already. Drop the effect(), or drop atomic=True."
            )
        if self.committed is not None:
            raise NotAllowedHere(
                f"{self.claimed.task}: effect() was called again after it had committed, and with it the job's "
                f"success. A job has one effect: write what belongs together in one block, what comes before it in "
                f"atomic_step()."
            )
        if is_open(self.alias):
            raise NotAllowedHere(
                f"{self.claimed.task}: effect() was called inside a transaction on database {self.alias!r}, which "
                f"could still roll it back. Call it outside: it opens a transaction of its own."
            )
        self.refuse_if_ending()
        with part(self.spans, "effect"), self.success() as effect:
            yield effect
            # Told meanwhile: it may have been stopped half-way.
            self._refuse_if_stopped()

    @contextmanager
    def success(self, *, timeout: float | None = None) -> Iterator[Effect]:
        """Open a transaction that ends with the fenced success: the job's ledger row and its transition.

        `timeout` bounds it in the database, in seconds. Raises LeaseLost, UnstorableResult, LeftOpen, ForeignWrite,
        TransactionGone and
        what the block raises; nothing is committed then. An exception after the commit (an on_commit hook of the
        handler's) is logged: the job has succeeded (rule 6).
        """
        effect, commit, outcome = Effect(), None, None
        try:
            with read_committed(self.alias, timeout=timeout) as commit:
                with kept_whole(self.alias, self.claimed.task):
                    yield effect
                refuse_if_gone(self.alias, self.claimed.task)
                outcome = self.success_of(effect.result)
                self._succeed(outcome)
            if not commit.done:
                raise LeftOpen(self.claimed.task)  # noqa: TRY301 - nothing to abstract
        except BaseException as error:
            if commit is None or not commit.done:
                # It was set in the hope of a commit.
                self.lease.over = False
                raise
            self.log_after_commit("job.hook_failed", error)
        self.committed, self.result = outcome, effect.result

    def success_of(self, value: Any) -> Committed:
        """Return the success of a run whose handler returned `value`. Raises UnstorableResult."""
        text = result_text(self.claimed.task, value)
        return Committed(id=self.claimed.id, version=self.claimed.version, result=text)

    def record(self, step: str, text: str | None) -> tuple[Answer, Any]:
        """Record a step in the open transaction; return `won` or `won before`, and the value that is recorded."""
        recorded: list[str | None] = []

        def ask() -> Answer:
            answer, stored = self._jobs().record_step(self.claimed.token, step, text, owner=self._owner)
            recorded[:] = [stored]
            return answer

        answer = self._insist(ask)
        if answer not in {Answer.WON, Answer.WON_BEFORE}:
            raise LeaseLost(*self.claimed.token)
        [stored] = recorded
        return answer, None if stored is None else json.loads(stored)

    def hold(self) -> None:
        """Keep the lease this run's until the caller's transaction ends. Raises NotAllowedHere outside of one."""
        self.refuse_on_event_loop("fence()", "Call it in the function that has the transaction")
        if not is_open(self.alias):
            raise NotAllowedHere(
                f"{self.claimed.task}: fence() has to be called inside a transaction on database {self.alias!r}, which "
                f"it then protects. Open one with `with transaction.atomic(using={self.alias!r}):`."
            )
        if not self._jobs().hold_fence(self.claimed.token, owner=self._owner):
            raise LeaseLost(*self.claimed.token)

    def refuse_if_ending(self) -> None:
        """Raise where the run is to start nothing more.

        LeaseLost if this process knows that the lease is gone or could not be renewed in time, JobCancelled or
        TaskTimeout if the run was told to stop.
        """
        if self.lease.lapsed or time.monotonic() >= self.lease.deadline:
            raise LeaseLost(*self.claimed.token)
        self._refuse_if_stopped()

    def refuse_on_event_loop(self, what: str, fix: str) -> None:
        """Raise NotAllowedHere in a coroutine."""
        if on_event_loop():
            raise NotAllowedHere(
                f"{self.claimed.task}: {what} uses the database, which a coroutine cannot do directly. {fix}."
            )

    def log_after_commit(self, name: str, error: BaseException) -> None:
        """Log an exception that came too late to matter: the job has succeeded (rule 6)."""
        event(
            logger, logging.ERROR, name,
            job=self.claimed.id, version=self.claimed.version, task=self.claimed.task, error=repr(error),
            exc_info=error,
        )  # fmt: skip

    def _refuse_if_stopped(self) -> None:
        """Raise JobCancelled or TaskTimeout where the run was told to stop and has not committed its end."""
        lease = self.lease
        if lease.over:
            return
        if lease.cancelled:
            raise JobCancelled(self.claimed.id, running=True)
        if lease.overdue and lease.timeout is not None:
            raise TaskTimeout(self.claimed.task, lease.timeout)

    def _succeed(self, outcome: Committed) -> None:
        """Write the fenced success in the open transaction."""
        succeed_together([(self, outcome)])

    def _insist(self, ask: Callable[[], Answer]) -> Answer:
        """Ask again while somebody holds the row for a moment, up to the lease's deadline."""
        tries = 0
        while (answer := ask()) is Answer.BUSY and time.monotonic() < self.lease.deadline:
            tries += 1
            time.sleep(exponential_delay(tries, base=FIRST_WAIT, cap=LONGEST_WAIT))
        return answer

    def _jobs(self) -> JobManager:
        from .models import Job

        manager: JobManager = Job.objects.db_manager(self.alias)
        return manager


def succeed_together(successes: Sequence[tuple[Fence, Committed]]) -> None:
    """Write the fenced successes of several runs of one owner in their open transaction, by one statement.

    Raises LeaseLost if any of them is not won: then nothing of that transaction may commit. Settles their leases.
    """
    by_token = {outcome.token: (fence, outcome) for fence, outcome in successes}
    tries = 0
    while by_token:
        first = next(iter(by_token.values()))[0]
        answers = first._jobs().succeed_lastly([outcome for _, outcome in by_token.values()], owner=first._owner)  # noqa: SLF001 - one of its own
        for token, answer in answers.items():
            fence = by_token[token][0]
            if answer is Answer.WON:
                del by_token[token]
                # From here on the job's row says "not yours" because it is done: no heartbeat may read that as a loss.
                fence.lease.settle()
            # Won before would be another transaction's: what was written in this one must not be added to it.
            elif answer is not Answer.BUSY or time.monotonic() >= fence.lease.deadline:
                raise LeaseLost(*token)
        if by_token:
            tries += 1
            time.sleep(exponential_delay(tries, base=FIRST_WAIT, cap=LONGEST_WAIT))
