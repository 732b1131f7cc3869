"""From the path that a job names to its task: imported once, the failure told with its reason."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType
from typing import Any, Final

from .compat import Task
from .errors import UnknownTask, kind_of

_known: Final[dict[str, Task[..., Any]]] = {}
# The paths of the tasks that were declared for the HTTP API.
_offered: Final[set[str]] = set()


def resolve_task(path: str) -> Task[..., Any]:
    """Return the task at ``module.qualname``.

    Raises UnknownTask with the reason: no such module or name, an import that failed, not a task. A failure
    is not remembered, since the code may arrive later; what was found is.
    """
    task = _known.get(path)
    if task is None:
        task = _known[path] = _find(path)
    return task


def is_known(path: str) -> bool:
    """Say whether the task of that path was found before; imports nothing."""
    return path in _known


def offer(path: str) -> None:
    """Note that the HTTP API may enqueue the task at this path."""
    _offered.add(path)


def offered_task(path: str) -> Task[..., Any] | None:
    """Return the task at this path if it was offered; None for any other text, which nothing is imported for."""
    if path not in _offered:
        return None
    task = resolve_task(path)
    # The name may have been bound to another task since.
    return task if getattr(task, "http", False) else None


def _find(path: str) -> Task[..., Any]:
    names = path.split(".")
    if not names[1:] or not all(names):
        raise UnknownTask(path, "not a dotted path to a function in a module")
    module, rest = _imported(path, names)
    found: Any = module
    for name in rest:
        if not hasattr(found, name):
            owner = getattr(found, "__name__", found)
            raise UnknownTask(path, f"{owner} has no attribute {name!r}")
        found = getattr(found, name)
    if not isinstance(found, Task):
        raise UnknownTask(path, f"it is {kind_of(found)}, not a task: decorate it with @task")
    return found


def _imported(path: str, names: list[str]) -> tuple[ModuleType, list[str]]:
    """Import the longest prefix that is a module; return it and the names behind it."""
    module = _import(path, names[0])
    for place, name in enumerate(names[1:-1], start=1):
        full = f"{module.__name__}.{name}"
        if not hasattr(module, "__path__") or importlib.util.find_spec(full) is None:
            return module, names[place:]
        module = _import(path, full)
    return module, names[-1:]


def _import(path: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            raise UnknownTask(path, f"there is no module {name!r}") from error
        raise UnknownTask(path, f"importing {name} raised {error!r}") from error
    # SystemExit too: a script without a __main__ guard must not end the worker that imports it.
    except (Exception, SystemExit) as error:
        raise UnknownTask(path, f"importing {name} raised {error!r}") from error
