"""An overview as lines of text, for a terminal."""

from __future__ import annotations

import datetime as dt
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ..operate.doctor.finding import Level
from ..operate.grouping import grouped
from ..operate.wording import lasting, printable

if TYPE_CHECKING:
    from ..operate.findings import Finding
    from ..operate.overview import Count, CronView, Ended, History, LiveWorker, Overview, QueueView

# Runs of one worker that are shown.
SHOWN_RUNS: Final = 3
_NOTHING: Final = "–"
_BARS: Final = "▁▂▃▄▅▆▇█"


class Line(NamedTuple):
    """A line, and its kind: `heading`, `dim`, `warning`, `problem`, or plain text; `whole` if it must not be cut."""

    text: str
    kind: str = ""
    whole: bool = False


# What a line of each kind is made of, such as one with colours.
Painter = Callable[[str], str]


def status_lines(overview: Overview, findings: Sequence[Finding]) -> list[Line]:
    """Return all that there is to say of a database at a glance."""
    return [
        Line(f"Database {overview.database}, {_clock(overview.at)}", "heading"),
        *_wrong(findings),
        Line(""),
        *_history(overview.history),
        Line(""),
        *_table(_QUEUE_HEADINGS, [_queue(queue) for queue in overview.queues], left=(0, 12)),
        *(Line(f"Paused task: {task}", "warning") for task in overview.paused_tasks),
        Line(""),
        *_workers(overview.workers, overview.at),
        Line(""),
        *_crons(overview.crons),
    ]


def drawn(lines: Iterable[Line], painters: dict[str, Painter], *, width: int | None) -> Iterator[str]:
    """Yield the lines as they are written, none longer than the terminal is wide."""
    for line in lines:
        text = printable(line.text)
        for part in [text] if width is None else _fitting(text, width, whole=line.whole):
            yield painters[line.kind](part) if line.kind in painters else part


def _fitting(text: str, width: int, *, whole: bool) -> list[str]:
    """Return the text in lines of the width; in one that is cut, where it need not be whole."""
    if len(text) <= width:
        return [text]
    if not whole:
        return [f"{text[: width - 1]}…"]
    return textwrap.wrap(text, width, subsequent_indent="    ", drop_whitespace=True)


def _wrong(findings: Sequence[Finding]) -> Iterator[Line]:
    if not findings:
        yield Line("Nothing is wrong now.")
    for group in grouped(findings):
        for finding in group.shown:
            kind = "problem" if finding.level is Level.PROBLEM else "warning"
            yield Line(f"{finding.level.upper()}: {finding.problem}", kind, whole=True)
            yield Line(f"    {finding.remedy}", whole=True)
        if group.more:
            yield Line(f"    and {group.more:,} more of this kind")


# -- what ended -----------------------------------------------------------------------------------------------


def _history(history: History) -> Iterator[Line]:
    minutes = [bucket.ended.succeeded.jobs for bucket in history.hour]
    yield Line(f"Last hour: {_ended(history.last_hour)}")
    yield Line(f"           {_bars(minutes)} succeeded by minute, at most {max(minutes):,}", "dim")
    yield Line(f"Last day:  {_ended(history.last_day)}")


def _ended(ended: Ended) -> str:
    return (
        f"{ended.succeeded} succeeded, {ended.failed} failed, {ended.cancelled} cancelled; {ended.retried} runs retried"
    )


def _bars(values: Sequence[int]) -> str:
    most = max(values) or 1
    return "".join(_BARS[value * (len(_BARS) - 1) // most] for value in values)


# -- queues ---------------------------------------------------------------------------------------------------

_QUEUE_HEADINGS: Final = (
    "queue", "ready", "oldest", "running", "scheduled", "blocked", "parked", "failed", "done/h", "failed/h",
    "retried/h", "workers", "",
)  # fmt: skip


def _queue(queue: QueueView) -> tuple[list[str], str]:
    depth = queue.depth
    oldest = _NOTHING if queue.oldest_ready_seconds is None else lasting(queue.oldest_ready_seconds)
    counts: list[Count] = [depth.running, depth.scheduled, depth.blocked, depth.parked, depth.failed]
    cells = [
        queue.name, str(depth.ready), oldest, *map(str, counts), str(queue.hour.succeeded), str(queue.hour.failed),
        str(queue.hour.retried), str(queue.workers), _settings(queue),
    ]  # fmt: skip
    return cells, "warning" if queue.paused else ""


def _settings(queue: QueueView) -> str:
    caps = (("soft cap", queue.soft_cap), ("cap", queue.exact_cap), ("cap per key", queue.key_cap))
    said = [f"{name} {cap}" for name, cap in caps if cap is not None]
    return ", ".join(["paused", *said] if queue.paused else said)


# -- workers --------------------------------------------------------------------------------------------------


def _workers(workers: Sequence[LiveWorker], now: dt.datetime) -> Iterator[Line]:
    if not workers:
        yield Line("No worker is known.")
        return
    head, *rows = _table(
        ("worker", "", "runs", "slots", "seen", "up", "queues"),
        [_worker(worker, now) for worker in workers],
        left=(0, 1, 6),
    )
    yield head
    for worker, row in zip(workers, rows, strict=True):
        yield row
        for run in worker.runs[:SHOWN_RUNS]:
            yield Line(
                f"    job {run.job_id} {run.task} ({run.queue}), run {run.number}, {lasting(run.seconds)}", "dim"
            )
        if (more := worker.running - SHOWN_RUNS) > 0:
            yield Line(f"    and {more:,} more", "dim")


def _worker(worker: LiveWorker, now: dt.datetime) -> tuple[list[str], str]:
    state = "silent" if not worker.alive else "draining" if worker.draining else "alive"
    cells = [
        f"{worker.host}:{worker.pid}", state, str(worker.running), str(worker.slots),
        f"{lasting(worker.seen_seconds)} ago", lasting((now - worker.started_at).total_seconds()),
        ", ".join(worker.queues) or "every queue",
    ]  # fmt: skip
    return cells, "" if worker.alive else "problem"


# -- cron -----------------------------------------------------------------------------------------------------


def _crons(crons: Sequence[CronView]) -> list[Line]:
    if not crons:
        return [Line("No cron entries.")]
    headings = ("cron", "expression", "zone", "last tick", "next tick", "")
    return _table(headings, [_cron(cron) for cron in crons], left=range(6))


def _cron(cron: CronView) -> tuple[list[str], str]:
    note, kind = cron.note()
    return [
        cron.name, cron.expression, cron.zone, _clock(cron.last_tick), _clock(cron.next_tick), note,
    ], kind  # fmt: skip


# -- tables of text -------------------------------------------------------------------------------------------


def _table(headings: Sequence[str], rows: Sequence[tuple[list[str], str]], *, left: Iterable[int]) -> list[Line]:
    """Return a heading and the rows, in columns; those named in `left` begin at their left edge."""
    aligned = set(left)
    widths = [max(len(cell) for cell in column) for column in zip(headings, *(cells for cells, _ in rows), strict=True)]

    def joined(cells: Sequence[str]) -> str:
        return "  ".join(
            cell.ljust(width) if place in aligned else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ).rstrip()

    return [Line(joined(headings), "heading"), *(Line(joined(cells), kind) for cells, kind in rows)]


def _clock(instant: dt.datetime | None) -> str:
    return _NOTHING if instant is None else f"{instant.astimezone(dt.UTC):%Y-%m-%d %H:%M:%S} UTC"
