"""Running one job's handler: from the claimed row to an outcome, without touching the job's row."""

from __future__ import annotations

import json
import logging
import time
import uuid
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final

from ..compat import announce, has_listeners, task_finished, task_started
from ..conf import ConveyorSettings
from ..context import ConveyorContext
from ..effects import Fence
from ..endings import raised
from ..outcomes import Committed, Ended
from ..results import finished_result, running_result
from ..spans.parts import NO_PART
from ..spans.switch import spans_in_use
from ..states import Verb
from ..steps import Steps
from ..tasks import TaskOptions, options_of, resolve_task
from . import runspan
from .atomic import run_atomically
from .ends import Ends, heeded
from .inflight import Held
from .ownloop import run_on_own_loop
from .runs import Definition, Finished, Run

if TYPE_CHECKING:
    from ..spans.otel import RunSpan
    from ..spans.parts import NoPart

# A run that may take so few seconds shares no transaction: its neighbours' commit would be a part of its time.
LEAST_TIMEOUT: Final = 1.0
# The ends that task_finished tells of: a retry is not one.
LAST_VERBS = frozenset({Verb.SUCCEED, Verb.FAIL, Verb.CANCEL})


class Handlers:
    """Prepares and calls the handlers of one worker process."""

    def __init__(self, *, owner: uuid.UUID, alias: str, settings: ConveyorSettings) -> None:
        self.alias = alias
        self._owner = owner
        self._settings = settings
        self._definitions: dict[str, Definition] = {}
        self._spans = spans_in_use(settings)
        self.ends = Ends(settings)

    def prepare(self, held: Held) -> Run:
        """Find the task and parse the arguments. Raises UnknownTask."""
        claimed = held.claimed
        definition = self._definitions.get(claimed.task) or self._define(claimed.task)
        fence = Fence(held, owner=self._owner, alias=self.alias, atomic=definition.options.atomic)
        run = Run(held, fence, definition, json.loads(claimed.args), json.loads(claimed.kwargs))
        # Built here, since an event loop may not query.
        if definition.wants_result or has_listeners(task_started, logging.INFO):
            self._build_result(run)
        return run

    def _define(self, path: str) -> Definition:
        task = resolve_task(path)
        # The module of a task may have set them up: here they are looked for once a task, not once a run.
        self._spans = spans_in_use(self._settings)
        options = options_of(task)
        timeout, is_coroutine = self._timeout(options), iscoroutinefunction(task.func)
        self._definitions[path] = definition = Definition(
            task=task,
            options=options,
            timeout=timeout,
            is_coroutine=is_coroutine,
            # A backoff callable gets it too.
            wants_result=task.takes_context or options.backoff_callable is not None,
            is_groupable=_is_groupable(options, timeout, is_coroutine=is_coroutine),
        )
        return definition

    def call(self, run: Run) -> Finished:
        """Run the handler in this thread and say how it ended; never raises for what the handler does."""
        try:
            if self._spans is None:
                return self._ended(run)
            with self._span_of(run):
                return self._ended(run)
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is its outcome
            return self.ends.failed(run, error)

    def _ended(self, run: Run) -> Finished:
        self._announce_start(run)
        if run.options.atomic:
            outcome, run.value = run_atomically(run.fence, lambda: self._invoke(run), timeout=run.timeout)
            return Finished(run.held, outcome, run)
        return self.ends.returned(run, self._invoke(run))

    def call_in_group(self, run: Run) -> Committed:
        """Run the handler in this thread and in the open transaction; return the success that is to be written.

        Raises what the handler raises, and UnstorableResult.
        """
        with self._span_of(run):
            self._announce_start(run)
            run.value = self._invoke(run)
            return run.fence.success_of(run.value)

    def known(self, path: str) -> Definition | None:
        """Return what is known of a task, None if none of its jobs has been prepared yet."""
        return self._definitions.get(path)

    async def acall(self, run: Run) -> Finished:
        """Run an async handler on this event loop and say how it ended."""
        try:
            with self._span_of(run):
                self._announce_start(run)
                return self.ends.returned(run, heeded(run, raised(await self._awaited(run))))
        except BaseException as error:  # noqa: BLE001 - as above; a cancellation is how it is interrupted
            return self.ends.failed(run, error)

    def wants_announcement(self, finished: Finished) -> bool:
        """Say whether anybody listens to the end of this run."""
        if finished.run is None or finished.outcome.verb not in LAST_VERBS:
            return False
        level = logging.ERROR if isinstance(finished.outcome, Ended) else logging.INFO
        return has_listeners(task_finished, level)

    def announce_end(self, finished: Finished) -> None:
        """Send task_finished; called once the outcome is durable."""
        run = finished.run
        if run is None:
            return
        if run.result is None:
            self._build_result(run)
        result = finished_result(run.result, finished.outcome, run.value)
        if run.error is None:
            announce(task_finished, sender=_sender(run), task_result=result)
            return
        try:
            raise run.error  # noqa: TRY301 - there is nothing to abstract
        except BaseException:  # noqa: BLE001 - receivers read sys.exc_info(), as Django's own logger does
            announce(task_finished, sender=_sender(run), task_result=result)

    def _span_of(self, run: Run) -> RunSpan | NoPart:
        """Begin the run's span, if there is to be one: a context manager for the time in which it is current."""
        if self._spans is None:
            return NO_PART
        return runspan.begin(run, self._spans, owner=self._owner, child=self._settings.spans == "child")

    def _invoke(self, run: Run) -> Any:
        """Call the handler in this thread; a coroutine function runs on a loop of its own here."""
        began = time.monotonic()
        try:
            if run.definition.is_coroutine:
                return heeded(run, raised(run_on_own_loop(run.held, lambda: self._called(run))))
            return heeded(run, raised(self._called(run)))
        finally:
            run.seconds = time.monotonic() - began

    async def _awaited(self, run: Run) -> Any:
        began = time.monotonic()
        try:
            return await self._called(run)
        finally:
            run.seconds = time.monotonic() - began

    def _called(self, run: Run) -> Any:
        return run.task.func(*self._call_args(run), **run.kwargs)

    def _timeout(self, options: TaskOptions) -> float | None:
        """Return the seconds that a run may take, None for no limit; an atomic one always has one."""
        if options.timeout is not None:
            return float(options.timeout)
        return self._settings.atomic_timeout_seconds if options.atomic else None

    def _call_args(self, run: Run) -> list[Any]:
        if not run.task.takes_context:
            return run.args
        context = ConveyorContext(
            task_result=run.result,
            alias=self.alias,
            job_id=run.held.claimed.id,
            fencing_token=run.held.claimed.version,
            _fence=run.fence,
            _steps=Steps(run.fence),
        )
        return [context, *run.args]

    def _build_result(self, run: Run) -> None:
        run.result = running_result(
            run.held.claimed,
            owner=self._owner,
            task=run.task,
            args=run.args,
            kwargs=run.kwargs,
            alias=self.alias,
        )

    def _announce_start(self, run: Run) -> None:
        if run.result is not None and has_listeners(task_started, logging.INFO):
            announce(task_started, sender=_sender(run), task_result=run.result)


def _is_groupable(options: TaskOptions, timeout: float | None, *, is_coroutine: bool) -> bool:
    return options.atomic and options.grouped and not is_coroutine and timeout is not None and timeout >= LEAST_TIMEOUT


def _sender(run: Run) -> type:
    """Return the class that the framework's signals name as their sender: the backend's."""
    return type(run.task.get_backend())
