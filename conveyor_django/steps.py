"""Durable steps: what a run has done is remembered in the ledger, and not done again by the next run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import isawaitable, iscoroutine, iscoroutinefunction
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import sync_to_async

from .effects import Fence
from .endings import raised
from .errors import InvalidStep, LeaseLost, NotAllowedHere, describe
from .jsonrule import is_storable
from .outcomes import Answer
from .spans.parts import part
from .stored import result_text
from .transactions import is_open, kept_whole, read_committed, refuse_if_gone

if TYPE_CHECKING:
    from .spans.otel import PartSpan
    from .spans.parts import NoPart

MAX_STEP_LENGTH: Final = 255


class Steps:
    """The steps of one run."""

    def __init__(self, fence: Fence) -> None:
        self._fence = fence
        self._lock = threading.Lock()
        self._used: set[str] = set()
        # Results by name, of earlier runs; None: not looked up yet. A first run has none before it.
        self._recorded: dict[str, Any] | None = {} if fence.claimed.version == 1 else None

    def step(self, name: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return the recorded result, or call `fn` and record what it returns."""
        self._fence.refuse_on_event_loop(f"step({name!r})", "Say `await context.astep(...)` instead")
        self._refuse_coroutines("step", name, fn)
        with (span := self._span("step", name)):
            with self._named("step", name) as recorded:
                if recorded:
                    span.remembered()
                    return recorded[0]
                value = self._sync_only("step", name, fn(*args, **kwargs))
                text = self._text(name, value)
            return self._record("step", name, text)

    def atomic_step(self, name: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Return the recorded result, or call `fn` and record what it returns in one transaction with its writes."""
        self._fence.refuse_on_event_loop(f"atomic_step({name!r})", "Say `await context.aatomic_step(...)` instead")
        self._refuse_coroutines("atomic_step", name, fn)
        with (span := self._span("atomic_step", name)), self._named("atomic_step", name) as recorded:
            if recorded:
                span.remembered()
                return recorded[0]
            alias, task = self._fence.alias, self._fence.claimed.task
            with read_committed(alias):
                with kept_whole(alias, task):
                    value = self._sync_only("atomic_step", name, fn(*args, **kwargs))
                refuse_if_gone(alias, task)
                answer, stored = self._fence.record(name, self._text(name, value))
                # Won before would be another transaction's: this one's writes must not be added to it.
                if answer is not Answer.WON:
                    raise LeaseLost(*self._fence.claimed.token)
        return stored

    async def astep(self, name: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do as `step`; `fn` may be async. A sync one runs in the thread of the async ORM."""
        with (span := self._span("step", name)):
            with self._naming("astep", name):
                if recorded := await sync_to_async(self._look_up)("astep", name):
                    span.remembered()
                    return recorded[0]
                is_async = iscoroutinefunction(fn)
                value = await (fn(*args, **kwargs) if is_async else sync_to_async(fn)(*args, **kwargs))
                if isawaitable(value):
                    value = await value
                text = self._text(name, value)
            return await sync_to_async(self._record)("astep", name, text)

    async def aatomic_step(self, name: str, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Do as `atomic_step`, in the thread of the async ORM."""
        self._refuse_coroutines("aatomic_step", name, fn)
        return await sync_to_async(self.atomic_step)(name, fn, args, kwargs)

    def _span(self, kind: str, name: object) -> PartSpan | NoPart:
        return part(self._fence.spans, kind, name)

    # -- names ----------------------------------------------------------------------------------------------

    @contextmanager
    def _named(self, method: str, name: str) -> Iterator[list[Any]]:
        """Take the name for this run; give its recorded result as a list, empty where there is none."""
        with self._naming(method, name):
            yield self._look_up(method, name)

    @contextmanager
    def _naming(self, method: str, name: str) -> Iterator[None]:
        """Take the name for this run; free again where the block raises: then nothing was recorded under it."""
        check_step_name(name)
        with self._lock:
            if name in self._used:
                raise InvalidStep(
                    f"{self._fence.claimed.task}: {method}({name!r}) was called twice in one run, and would have got "
                    f'the result of the first call. Number the steps of a loop: f"{name}-{{i}}".'
                )
            self._used.add(name)
        try:
            yield
        except BaseException:
            self._used.discard(name)
            raise

    def _look_up(self, method: str, name: str) -> list[Any]:
        self._refuse_transactions(method, name)
        if self._recorded is None:
            from .models import Ledger

            self._recorded = Ledger.objects.db_manager(self._fence.alias).steps_of(self._fence.claimed.id)
        if name in self._recorded:
            return [self._recorded[name]]
        self._fence.refuse_if_ending()
        return []

    def _refuse_transactions(self, method: str, name: str) -> None:
        """Raise NotAllowedHere where a record could not commit by itself."""
        task, alias = self._fence.claimed.task, self._fence.alias
        if self._fence.atomic:
            raise NotAllowedHere(
                f"{task}: {method}({name!r}) cannot be used in an atomic=True task, all of which is one commit: a step "
                f"of it would be undone with the rest. Call the function directly, or drop atomic=True and use "
                f"atomic_step() and effect() for what has to be one commit."
            )
        if self._fence.committed is not None:
            raise NotAllowedHere(
                f"{task}: {method}({name!r}) was called after effect() had committed, and with it the job's success: "
                f"no later run would look for it. Call it before the effect."
            )
        if is_open(alias):
            raise NotAllowedHere(
                f"{task}: {method}({name!r}) was called inside a transaction on database {alias!r}, which could still "
                f"roll the record back. Call it outside; for writes that are to commit with their record, put them "
                f"into the function of an atomic_step()."
            )

    # -- functions and results ------------------------------------------------------------------------------

    def _refuse_coroutines(self, method: str, name: str, fn: Any) -> None:
        if iscoroutinefunction(fn) or iscoroutinefunction(getattr(fn, "__call__", None)):  # noqa: B004 - its kind
            raise InvalidStep(self._says_async(method, name, fn))

    def _sync_only(self, method: str, name: str, value: Any) -> Any:
        if iscoroutine(value):
            value.close()
            raise InvalidStep(self._says_async(method, name, value))
        return value

    def _says_async(self, method: str, name: str, what: Any) -> str:
        fix = "Say `await context.astep(...)`" if method == "step" else "A transaction needs a sync function"
        return f"{self._fence.claimed.task}: {method}({name!r}) got {describe(what)}, which is async. {fix}."

    def _text(self, name: str, value: Any) -> str | None:
        return result_text(f"step {name!r} of {self._fence.claimed.task}", raised(value))

    def _record(self, method: str, name: str, text: str | None) -> Any:
        # The function may have left one open.
        self._refuse_transactions(method, name)
        with read_committed(self._fence.alias):
            return self._fence.record(name, text)[1]


def check_step_name(name: Any) -> None:
    """Refuse what the ledger cannot hold as a name. Raises InvalidStep with the name and the fix."""
    if not isinstance(name, str):
        raise InvalidStep(f"the name of a step must be a str, not {describe(name)}.")
    if not 1 <= len(name) <= MAX_STEP_LENGTH:
        raise InvalidStep(
            f"the name of a step must have 1 to {MAX_STEP_LENGTH} characters, not {len(name)} ({describe(name)}); "
            f"use a digest of a longer one."
        )
    if not is_storable(name):
        raise InvalidStep(f"the step's name {describe(name)} has a character that PostgreSQL cannot store; remove it.")
