"""A worker's life in a thread that can be stopped before and after any of its statements."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal

import psycopg
from asgiref.sync import async_to_sync
from django.db import connections

from conveyor_django.conf import conveyor_settings
from conveyor_django.db import Connection
from conveyor_django.models import Job
from conveyor_django.outcomes import Answer, Claimed
from conveyor_django.worker.finisher import Finisher
from conveyor_django.worker.group import GroupTransaction
from conveyor_django.worker.handler import Finished, Handlers
from conveyor_django.worker.inflight import Held, InFlight
from conveyor_django.worker.paces import Paces

from ..support.connections import Connect
from ..support.waits import PATIENCE, backend_pid, wait_until_gone

Side = Literal["before", "after"]

LEASE: Final = 30.0


class Stop:
    """Counts a thread's statements, and stops it at the one numbered `at` (from 1) until it is let go."""

    def __init__(self, at: int, side: Side) -> None:
        self._at = at
        self._side = side
        self._go = threading.Event()
        self.count = 0
        # Where it stands, or stood.
        self.where = ""
        # Set once it stands, and again once the thread has ended.
        self.settled = threading.Event()

    @contextmanager
    def around(self, what: Any) -> Iterator[None]:
        """Surround a statement."""
        self.count += 1
        here = self.count == self._at
        if here and self._side == "before":
            self._stand(what)
        try:
            yield
        finally:
            if here and self._side == "after":
                self._stand(what)

    def let_go(self) -> None:
        """Let the thread go on."""
        self._go.set()

    def _stand(self, what: Any) -> None:
        self.where = f"{self._side} {str(what).strip().splitlines()[0][:100]}"
        self.settled.set()
        assert self._go.wait(PATIENCE)


class Worker:
    """Claims the one ready job, runs its handler, writes its outcome: a worker process of one job, in one thread.

    With `together` it claims so many, and runs them in one transaction; `claimed` is the first of them.
    """

    def __init__(self, connect: Callable[[], Connection], *, together: int = 1) -> None:
        self.together = together
        self.owner = uuid.uuid4()
        self.claimed: Claimed | None = None
        self.answer: Answer | None = None
        self._connect = connect
        self._settings = conveyor_settings()

    def live(self) -> bool:
        """Live; False if there was no job."""
        sent_at = time.monotonic()
        queues = {"default": LEASE}
        claimed = Job.objects.claim_jobs(owner=self.owner, queues=queues, limit=self.together, on=self._connect())
        handlers = Handlers(owner=self.owner, alias="default", settings=self._settings)
        held = InFlight().add(claimed, sent_at)
        if claimed:
            self.claimed = claimed[0]
        if len(held) > 1:
            self._live_together(handlers, held)
        else:
            for one in held:
                self._live_alone(handlers, one)
        return bool(claimed)

    def _live_together(self, handlers: Handlers, held: list[Held]) -> None:
        """Run them as an executor's thread does with a turn at the line."""
        transaction = GroupTransaction(handlers, alias="default", paces=Paces())

        def run_all() -> None:
            for one in held:
                run = handlers.prepare(one)
                if (finished := transaction.call(run)) is not None:
                    self._finish(finished)
                transaction.tidy()

        transaction.around(run_all, timeout=LEASE)
        for finished in transaction.finished():
            self._finish(finished)
        for one in transaction.again() if transaction.has_begun else held:
            wrapper = connections["default"]
            if wrapper.connection is not None and not wrapper.is_usable():
                wrapper.close()
            self._live_alone(handlers, one)

    def _live_alone(self, handlers: Handlers, held: Held) -> None:
        run = handlers.prepare(held)
        self._finish(async_to_sync(handlers.acall)(run) if run.is_async else handlers.call(run))

    def _finish(self, finished: Finished) -> None:
        """Write the outcome, again on a new connection where one was cut, as the pump does."""
        outcomes = [(finished.held.claimed, finished.outcome)]
        finisher = Finisher(owner=self.owner, settings=self._settings)
        try:
            turn = finisher.turn(self._connect(), outcomes, queues={}, limit=0)
        except psycopg.OperationalError:
            turn = finisher.turn(self._connect(), outcomes, queues={}, limit=0)
        answer = turn.answers[finished.outcome.token]
        if finished.held.claimed == self.claimed:
            self.answer = answer


class Zombie(threading.Thread):
    """A worker in a thread of its own that a `Stop` stops."""

    def __init__(self, stop: Stop, connect: Connect, own: Connection | None = None, *, together: int = 1) -> None:
        super().__init__(name="zombie", daemon=True)
        self.stop = stop
        self.error: BaseException | None = None
        # Its own connection, perhaps that of one before it.
        self.own: Connection | None = None if own is None or own.closed else own
        self._open = connect
        self._sessions: list[Any] = []
        self.worker = Worker(self._connection, together=together)

    def run(self) -> None:
        """Live, with a stop at every statement."""
        wrapper = connections["default"]
        try:
            wrapper.ensure_connection()
            self._sessions.append(wrapper.connection)
            with stopping(wrapper, self.stop):
                self.worker.live()
        except psycopg.OperationalError:
            # Its claim was cut off: it gives back what it does not know, which others have by then.
            pass
        except BaseException as error:  # noqa: BLE001 - shown by the test
            self.error = error
        finally:
            wrapper.close()
            self.stop.settled.set()

    def begin(self) -> bool:
        """Start, and wait until it stands or has ended; say whether it stands."""
        self.start()
        assert self.stop.settled.wait(PATIENCE)
        return bool(self.stop.where)

    def end(self) -> None:
        """Let it go on to its end; raise what it raised."""
        self.stop.let_go()
        self.join(PATIENCE)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error

    def cut_off(self, watcher: Connection) -> None:
        """End its sessions, as a rescuer does with those of a dead owner (rule 7)."""
        for pid in [backend_pid(session) for session in self._sessions if not session.closed]:
            watcher.execute("SELECT pg_terminate_backend(%s)", (pid,))
            wait_until_gone(watcher, pid)

    def _connection(self) -> Connection:
        """Return its own connection, a new one where it was cut."""
        if self.own is None or self.own.closed:
            self.own = self._open()
        if self.own not in self._sessions:
            self.own.cursor_factory = _stopping_cursor(self.stop)
            # As behind a pooler: all goes by cursors then, where it can be stopped.
            self.own.prepare_threshold = None
            self._sessions.append(self.own)
        return self.own


@contextmanager
def stopping(wrapper: Any, stop: Stop) -> Iterator[None]:
    """Stop at the statements and commits of Django's connection, as this thread has it."""

    def around(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        with stop.around(sql):
            return execute(sql, params, many, context)

    commit = wrapper._commit

    def commit_with_stop() -> None:
        with stop.around("COMMIT"):
            commit()

    wrapper._commit = commit_with_stop
    try:
        with wrapper.execute_wrapper(around):
            yield
    finally:
        del wrapper._commit


def _stopping_cursor(stop: Stop) -> type[psycopg.Cursor[Any]]:
    class StoppingCursor(psycopg.Cursor[Any]):
        def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
            with stop.around(query):
                return super().execute(query, params, **options)

    return StoppingCursor
