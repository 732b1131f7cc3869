"""The page of one job: everything that is known about it, in the order in which somebody on call asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..compat import Task
from ..errors import UnknownTask
from ..jsonrule import scrub_text
from ..operate.explain import explain
from ..registry import resolve_task
from ..results import result_id
from ..signatures import shape_of
from ..states import TERMINAL
from .drawn import DrawnPage
from .jsonview import READ, readable
from .life import life_of
from .rows import EFFECTS, RUNS, Given, Stored, alias_of, read_effects, read_endings, read_given, read_now, read_workers
from .surroundings import Surroundings, read_surroundings
from .timeline import draw_life, draw_runs, worker_name
from .trace import trace_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..models import Job


class JobPage(DrawnPage):
    """Shows a job: everything that its page says is read here."""

    change_form_template = "conveyor/admin/job.html"

    def page_context(self, row: Job) -> dict[str, Any]:
        """Return what the template shows."""
        return page_context(row)


def page_context(job: Job) -> dict[str, Any]:
    """Read everything that a job's page shows. The number of queries is the same for any number of rows."""
    given, endings, effects = read_given(job), read_endings(job), read_effects(job)
    life = life_of(job, endings[:RUNS], effects[-EFFECTS:], now=read_now(job))
    workers = read_workers(job, [run.owner for run in life.runs if run.owner])
    success = next((effect for effect in effects if not effect.step), None)
    return {
        "job": job,
        "life": life,
        "life_drawing": draw_life(life),
        "runs_drawing": draw_runs(life, workers),
        "run_rows": [(run, worker_name(run.owner, workers)) for run in reversed(life.runs)],
        "has_ended": job.state in TERMINAL,
        "name": given.name if given else None,
        **_arguments(job, given),
        "result": _json(success.result) if success else None,
        "endings": [
            (each, worker_name(each.owner, workers), scrub_text(each.traceback, READ)) for each in endings[:RUNS]
        ],
        "has_more_endings": len(endings) > RUNS,
        "effects": [(each, worker_name(each.owner, workers), _json(each.result)) for each in effects[-EFFECTS:]],
        "has_more_effects": len(effects) > EFFECTS,
        "trace": trace_of(given.traceparent, given.tracestate) if given else None,
        "explanation": explain(result_id(alias_of(job), job.pk)),
        "surroundings": _surroundings(job, given),
    }


def _surroundings(job: Job, given: Given | None) -> Surroundings | None:
    if job.workflow_id is None:
        return None
    return read_surroundings(job, job.workflow_id, given.name if given else None)


def _arguments(job: Job, given: Given | None) -> dict[str, str | None]:
    if given is None:
        return {"shown_args": None, "shown_kwargs": None}
    return {
        "shown_args": readable(given.args.text or "", length=given.args.length, names=_parameters(job.task)),
        "shown_kwargs": readable(given.kwargs.text or "", length=given.kwargs.length),
    }


def _parameters(path: str) -> Sequence[str | None]:
    """Return the names of the task's parameters, by which secrets are known; none where its code is not here."""
    try:
        task: Task[..., Any] = resolve_task(path)
        places = shape_of(task.func).places
    except (UnknownTask, TypeError, ValueError):  # The last two: `inspect` cannot read its signature.
        return ()
    return places[1:] if task.takes_context else places


def _json(stored: Stored | None) -> str:
    if stored is None:
        return "null"
    if stored.text is None:
        return f"… {stored.length} bytes in the database, too large to be read here …"
    return readable(stored.text, length=stored.length)
