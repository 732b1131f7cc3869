"""Small atomic runs of one thread in one transaction: a savepoint each, one fenced success and one commit for all.

A run that raises is rolled back to its savepoint, and only it has not succeeded. What cannot be undone by itself, such
as a lease that was lost or an error at the commit, undoes the transaction, and each run is made again, alone. So is one
that met what may be the group's doing, or did what its neighbours must not meet: alone, its end is its own.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.db import Error as DjangoError
from django.db import connections
from psycopg.pq import TransactionStatus

from ..db import is_transient
from ..effects import succeed_together
from ..errors import LeaseLost
from ..log import event, get_logger
from ..outcomes import Committed
from ..transactions import SAVEPOINT, kept_whole, read_committed, set_savepoint
from . import runspan
from .atomic import MARGIN_SECONDS
from .handler import Handlers
from .inflight import Held
from .paces import Paces
from .runs import Finished, Run
from .traces import leaves_traces
from .upkeep import close, is_at_rest

logger = get_logger("worker.group")

# In which a savepoint can be rolled back to.
_OPEN: Final = frozenset({TransactionStatus.INTRANS, TransactionStatus.INERROR})
# As Django keeps them: (savepoints, function, whether its errors are swallowed).
Hooks = list[tuple[set[str], Callable[[], object], bool]]


class Undone(Exception):
    """The transaction cannot commit, or must not: its runs are made again, alone."""


class MustRunAlone(BaseException):
    """Raised in a handler before a statement whose traces its neighbours would meet; no Exception, as Interrupted."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A run that has ended well, and will have succeeded with the commit; its `on_commit` hooks come after that."""

    run: Run
    success: Committed
    hooks: Hooks


class GroupTransaction:
    """One transaction of one thread, and the runs in it; used once."""

    def __init__(self, handlers: Handlers, *, alias: str, paces: Paces) -> None:
        self._handlers = handlers
        self._alias = alias
        self._paces = paces
        self._connection: Any = connections[alias]
        self._parts: list[Part] = []
        # Whether the last run is open still, and has its savepoint.
        self._is_open = self._has_savepoint = False
        self._must_be_alone = False
        # All that have begun, in their order; those of them that have to be run again, alone; and the end of the run
        # that has lost its lease, if one has.
        self._begun: list[Held] = []
        self._again: set[Held] = set()
        self.has_begun = False
        self._wrappers = list(self._connection.execute_wrappers)
        self._lost: list[Finished] = []

    def around(self, run_all: Callable[[], object], *, timeout: float) -> None:
        """Begin, have `run_all` make the runs, write their successes and commit; what goes wrong is left to `again()`.

        `timeout` is the longest of the runs, in seconds.
        """
        try:
            with read_committed(self._alias, timeout=timeout + MARGIN_SECONDS) as commit:
                self.has_begun = True
                run_all()
                self._succeed()
            if not commit.done:
                raise Undone("a handler has ended the transaction")  # noqa: TRY301 - nothing to abstract
        except BaseException as error:  # noqa: BLE001 - what went wrong for all is nobody's own: each is run again
            self._undone(error)

    def call(self, run: Run) -> Finished | None:
        """Run a handler after a savepoint of its own; None where the commit or the next run decides how it ended."""
        self._is_open, self._has_savepoint = True, False
        self._begun.append(run.held)
        try:
            set_savepoint(self._connection)
            self._has_savepoint = True
            self._watch()
            with kept_whole(self._alias, run.held.claimed.task):
                success = self._handlers.call_in_group(run)
            is_intact = self._is_intact()
            # From here on nothing interrupts it.
            run.held.rest()
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is its outcome
            if not self._is_of_the_group(run, error):
                return self._handlers.ends.failed(run, error)
            run.held.rest()
            is_intact = False
        if is_intact:
            self._parts.append(Part(run, success, self._take_hooks()))
            self._is_open = False
        else:
            self._paces.keep_alone(run.held.claimed.task, time.monotonic())
            self._again.add(run.held)
            runspan.undo(run)
        return None

    def tidy(self) -> None:
        """Undo what the last run did, unless it has ended well. Raises Undone where that is impossible."""
        connection = self._connection
        # Not by a context manager of the run's: an interrupt may come between its steps.
        connection.execute_wrappers = self._wrappers
        if not self._is_open:
            return
        self._is_open = self._must_be_alone = False
        if not connection.in_atomic_block or self._status() not in _OPEN:
            raise Undone("the session is lost, or a statement was left unfinished")
        # What a handler that was stopped inside its own atomic block leaves behind.
        del connection.atomic_blocks[1:]
        connection.savepoint_ids.clear()
        connection.needs_rollback = False
        if self._has_savepoint:
            connection.savepoint_rollback(SAVEPOINT)
        elif self._status() != TransactionStatus.INTRANS:
            raise Undone("a savepoint could not be set")
        self._take_hooks()

    def again(self) -> list[Held]:
        """Return what has to be run again, alone."""
        return [held for held in self._begun if held in self._again]

    def finished(self) -> Iterator[Finished]:
        """Give the end of each run that has succeeded, its hooks run; of a transaction undone, that of the lost one."""
        yield from self._lost
        for part in self._parts:
            # Each waits for the hooks of those before it.
            part.run.held.rest()
        for part in self._parts:
            run, fence = part.run, part.run.fence
            run.held.begin(run.timeout)
            fence.committed, fence.result = part.success, run.value
            try:
                self._connection.run_on_commit = part.hooks
                if part.hooks:
                    with runspan.within(run):
                        self._connection.run_and_clear_commit_hooks()
            except BaseException as error:  # noqa: BLE001 - it came too late to matter (rule 6)
                fence.log_after_commit("job.hook_failed", error)
            if not is_at_rest(self._connection):
                # A hook has left something open, which the next ones must not be a part of.
                close(self._connection)
            yield Finished(run.held, part.success, run)

    def _succeed(self) -> None:
        """Write the successes of all parts. Raises Undone or LeaseLost where one of them must not count any more."""
        for part in self._parts:
            # Told meanwhile, and what it did cannot be undone by itself any more.
            if part.run.held.is_told:
                raise Undone(f"job {part.run.held.claimed.id} was told to stop")
            # From here on somebody looks whether it takes too long.
            part.run.held.begin(part.run.timeout)
        succeed_together([(part.run.fence, part.success) for part in self._parts])

    def _undone(self, error: BaseException) -> None:
        """Leave each run to be made again, but for one that has lost its lease: that is over."""
        is_known = isinstance(error, (Undone, LeaseLost))
        for part in self._parts:
            held = part.run.held
            held.over = False
            if isinstance(error, LeaseLost) and held.claimed.id == error.job_id:
                self._lost.append(self._handlers.ends.failed(part.run, error))
                continue
            held.rest()
            self._again.add(held)
            runspan.undo(part.run)
            if not is_known:
                # Whose constraint it was nobody knows.
                self._paces.keep_alone(held.claimed.task, time.monotonic())
        event(
            logger, logging.WARNING, "group.undone",
            jobs=len(self._parts), database=self._alias, error=repr(error),
            exc_info=None if is_known or isinstance(error, DjangoError) else error,
        )  # fmt: skip
        self._parts.clear()

    def _watch(self) -> None:
        """Refuse statements whose traces its neighbours would meet, until `tidy`."""

        def look(execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
            if leaves_traces(sql):
                # A handler may catch even this.
                self._must_be_alone = True
                raise MustRunAlone
            return execute(sql, params, many, context)

        self._connection.execute_wrappers = [*self._wrappers, look]

    def _is_intact(self) -> bool:
        """Say whether the run has left the transaction as it was given it."""
        connection = self._connection
        return (
            not self._must_be_alone
            and connection.in_atomic_block
            and not connection.needs_rollback
            and len(connection.atomic_blocks) == 1
            and self._status() == TransactionStatus.INTRANS
        )

    def _is_of_the_group(self, run: Run, error: BaseException | None) -> bool:
        """Say whether an error may be due to the neighbours: their locks, their session, their transaction."""
        if self._must_be_alone:
            return True
        if run.held.is_told:
            return False
        if not self._has_savepoint:
            # Its handler was not called.
            return True
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            if is_transient(error):
                return True
            seen.add(id(error))
            error = error.__cause__ or error.__context__
        return False

    def _status(self) -> TransactionStatus:
        session = self._connection.connection
        return TransactionStatus.UNKNOWN if session is None else session.info.transaction_status

    def _take_hooks(self) -> Hooks:
        """Take the hooks that the last run has registered: all but the first, which tells of the commit."""
        hooks: Hooks = self._connection.run_on_commit[1:]
        del self._connection.run_on_commit[1:]
        return hooks
