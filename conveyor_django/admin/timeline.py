"""A job's life as two drawings to scale: the whole of it on one line, and its runs, each from its claim on.

Two, because a job may wait three days for a run of three milliseconds. Here is only where things stand; the templates
draw them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from ..states import JobState
from .life import Life, Run, Wait
from .scale import Scale, duration

# Units of the drawings: about a screen's points.
WIDTH: Final = 960
_MARGIN: Final = 16
_MARK_ROW: Final = 16
_LANE: Final = 24
_AXIS: Final = 40
# Of the drawing of the runs: room for a run's name at the left, and for how it ended at the right.
_NAME_ROOM: Final = 230
_END_ROOM: Final = 260
_RUN_ROW: Final = 36
# The newest runs alone are drawn.
RUNS_DRAWN: Final = 25
# Roughly the width of a character.
_CHARACTER: Final = 6.6
_NAME_LENGTH: Final = 28


@dataclass(frozen=True, slots=True)
class Bar:
    """A length of time: where it is drawn, its CSS class, what is written on it, and what is said of it."""

    x: float
    width: float
    kind: str
    text: str
    title: str

    @property
    def middle(self) -> float:
        """Where its text stands."""
        return round(self.x + self.width / 2, 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant of the life: its place, its label's row and side, counted from the top."""

    x: float
    y: int
    anchor: str
    text: str


@dataclass(frozen=True, slots=True)
class Dot:
    """What a run has committed: a step, or the effect."""

    x: float
    is_effect: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeDrawing:
    """The whole life on one line."""

    width: int
    height: int
    top: int
    axis: int
    waits: list[Bar]
    runs: list[Bar]
    marks: list[Mark]
    ticks: list[tuple[float, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """One run, from its claim on."""

    y: int
    name: str
    detail: str
    bar: Bar
    end_x: float
    end: str
    dots: list[Dot]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsDrawing:
    """The newest runs, the newest at the top, to one scale."""

    width: int
    height: int
    axis: int
    rows: list[RunRow]
    ticks: list[tuple[float, str]]
    left_out: int


def draw_life(life: Life) -> LifeDrawing:
    """Place the whole life."""
    scale = Scale(life.since(life.horizon), _MARGIN, WIDTH - _MARGIN)
    marks = _marks(life, scale)
    top = max(mark.y for mark in marks) + 8
    axis = top + _LANE + 6
    return LifeDrawing(
        width=WIDTH,
        height=axis + _AXIS - 14,
        top=top,
        axis=axis,
        waits=[_wait_bar(wait, life, scale) for wait in life.waits],
        runs=[_run_bar(run, life, scale) for run in life.runs],
        marks=marks,
        ticks=scale.ticks(),
    )


def draw_runs(life: Life, workers: Mapping[uuid.UUID, str]) -> RunsDrawing | None:
    """Place the newest runs below each other; None where there was none."""
    newest = life.runs[::-1][:RUNS_DRAWN]
    if not newest:
        return None
    scale = Scale(max(run.seconds for run in newest), _NAME_ROOM, WIDTH - _END_ROOM)
    axis = len(newest) * _RUN_ROW + 4
    return RunsDrawing(
        width=WIDTH,
        height=axis + _AXIS - 14,
        axis=axis,
        rows=[_row(place * _RUN_ROW, run, workers, scale) for place, run in enumerate(newest)],
        ticks=scale.ticks(),
        left_out=len(life.runs) - len(newest),
    )


def worker_name(owner: uuid.UUID | None, workers: Mapping[uuid.UUID, str]) -> str:
    """Return the name of a worker process: its host and process id while it lives, else its incarnation."""
    if owner is None:
        return ""
    return workers.get(owner) or str(owner)


def _wait_bar(wait: Wait, life: Life, scale: Scale) -> Bar:
    x, width = scale.bar(life.since(wait.start), life.since(wait.end))
    return Bar(x, width, wait.why, _fitting(wait.why, width), f"{wait.why} for {duration(wait.seconds)}")


def _run_bar(run: Run, life: Life, scale: Scale) -> Bar:
    x, width = scale.bar(life.since(run.started_at), life.since(run.ended_at))
    return Bar(x, width, run.outcome, _fitting(str(run.number), width), f"run {run.number}: {_end(run)}")


def _fitting(text: str, width: float) -> str:
    return text if width >= len(text) * _CHARACTER + 6 else ""


def _end(run: Run) -> str:
    verb = "running for" if run.outcome == JobState.RUNNING else f"{run.outcome} after"
    return f"{verb} {duration(run.seconds)}"


def _row(y: int, run: Run, workers: Mapping[uuid.UUID, str], scale: Scale) -> RunRow:
    x, width = scale.bar(0, run.seconds)
    worker = worker_name(run.owner, workers)
    short = worker if len(worker) <= _NAME_LENGTH else f"{worker[:_NAME_LENGTH]}…"
    dots = [_dot(run, commit.step, (commit.at - run.started_at).total_seconds(), scale) for commit in run.commits]
    return RunRow(
        y=y,
        name=f"run {run.number} · lease version {run.lease_version}",
        detail=short,
        bar=Bar(x, width, run.outcome, "", f"{worker}: {_end(run)}{f', {run.error}' if run.error else ''}"),
        # Behind the mark of the effect too.
        end_x=x + width + 12,
        end=_end(run),
        dots=dots,
    )


def _dot(run: Run, step: str, seconds: float, scale: Scale) -> Dot:
    # The success is committed at the run's end: by clocks that are read twice, it could stand behind it.
    x = scale.at(min(max(seconds, 0.0), run.seconds))
    what = f"step {step!r}" if step else "effect"
    return Dot(x, not step, f"{what} committed {duration(seconds)} after the claim")


def _marks(life: Life, scale: Scale) -> list[Mark]:
    age = duration(life.since(life.end))
    instants = [
        (0.0, "enqueued"),
        (life.since(life.end), f"{life.state} after {age}" if life.has_ended else f"now, {age}"),
    ]
    # Of a job that was cancelled before it was due, the time that it was due at lies beyond the drawing.
    if life.created_at < life.run_at <= life.horizon:
        instants.append((life.since(life.run_at), f"due at {duration(life.since(life.run_at))}"))
    if life.cancel_requested_at:
        instants.append((life.since(life.cancel_requested_at), "cancel requested"))
    return _placed(instants, scale)


def _placed(instants: Sequence[tuple[float, str]], scale: Scale) -> list[Mark]:
    """Give each label the first row in which it meets no other one."""
    rows: list[list[tuple[float, float]]] = []
    marks = []
    for seconds, text in instants:
        x = scale.at(seconds)
        anchor, start = _side(x, len(text) * _CHARACTER)
        taken = (start - 8, start + len(text) * _CHARACTER + 8)
        row = next((place for place, row in enumerate(rows) if _is_free(row, taken)), len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(taken)
        marks.append(Mark(x, (row + 1) * _MARK_ROW, anchor, text))
    return marks


def _side(x: float, length: float) -> tuple[str, float]:
    """Return the side of an instant on which its label stands, and where the label begins."""
    if x < WIDTH / 4:
        return "start", x
    if x > WIDTH * 3 / 4:
        return "end", x - length
    return "middle", x - length / 2


def _is_free(row: Sequence[tuple[float, float]], taken: tuple[float, float]) -> bool:
    return all(taken[1] <= start or end <= taken[0] for start, end in row)
