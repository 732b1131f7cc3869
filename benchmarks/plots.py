"""The plots of docs/performance.md, by matplotlib: what they show is picked here, too, and is pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .figures import Spread, by_entrant, spread

# What a workload's bars show: the figures of the first group whose first figure its runs have.
GROUPS: Final = (
    ("claim_p95_ms", "jobs_per_second"),
    ("single_per_second", "bulk_per_second"),
    ("p50_ms", "p99_ms"),
    ("jobs_per_second",),
)
HEADINGS: Final = {
    "claim_p95_ms": "claim p95, ms",
    "jobs_per_second": "jobs/s",
    "single_per_second": "enqueued one by one, jobs/s",
    "bulk_per_second": "enqueued in bulk, jobs/s",
    "p50_ms": "to the start, p50, ms",
    "p99_ms": "to the start, p99, ms",
}
# What its minutes show, each in a panel of its own.
LINES: Final = {
    "jobs_per_second": "jobs/s",
    "p99_ms": "p99, ms",
    "dead_rows": "dead rows",
    "resident_mb": "workers' memory, MB",
    "tables_mb": "tables, MB",
    "indexes_mb": "indexes, MB",
}
MINE: Final = "conveyor"
# Sizes in inches.
WIDTH: Final = 10.0
BAR: Final = 0.34
PANEL: Final = 1.8
Runs = Sequence[Mapping[str, Any]]


class NoPlots(Exception):
    """The plots cannot be drawn: matplotlib is not installed."""


@dataclass(frozen=True, slots=True)
class Bars:
    """One figure of every entrant, over the rounds."""

    heading: str
    spreads: dict[str, Spread]


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of every entrant by minute: the median of the rounds."""

    heading: str
    lines: dict[str, list[tuple[int, float]]]


def bars(runs: Runs, workload: str) -> list[Bars]:
    """Return what a workload's bars show, figure by figure; nothing where no run has a figure for them."""
    entrants = by_entrant(runs, workload)
    for group in GROUPS:
        if any(group[0] in run for own in entrants.values() for run in own):
            return [_bars(entrants, figure) for figure in group]
    return []


def _bars(entrants: Mapping[str, Runs], figure: str) -> Bars:
    found = {label: spread(run.get(figure) for run in own) for label, own in entrants.items()}
    return Bars(HEADINGS[figure], {label: value for label, value in found.items() if value is not None})


def panels(runs: Runs, workload: str) -> list[Panel]:
    """Return what a workload was like minute by minute; nothing of one that has no minutes."""
    entrants = by_entrant(runs, workload)
    found = [
        Panel(heading, {label: _line(own, figure) for label, own in entrants.items()})
        for figure, heading in LINES.items()
    ]
    return [panel for panel in found if any(panel.lines.values())]


def _line(runs: Runs, figure: str) -> list[tuple[int, float]]:
    values: dict[int, list[float]] = {}
    for run in runs:
        for minute in run.get("minutes", ()):
            if figure in minute:
                values.setdefault(minute["minute"], []).append(minute[figure])
    return [(minute, value.median) for minute, each in sorted(values.items()) if (value := spread(each)) is not None]


def draw(runs: Runs, titles: Mapping[str, str], folder: Path) -> list[str]:
    """Draw each workload as PNG and SVG; return the names of those that were drawn. Raises NoPlots."""
    try:
        import matplotlib as mpl
    except ImportError as error:
        raise NoPlots("no plots without matplotlib: pip install -c constraints.txt -e '.[bench]'") from error
    # The same file for the same figures, wherever and whenever it is drawn.
    mpl.rcParams["svg.hashsalt"] = MINE
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name in dict.fromkeys(run["workload"] for run in runs):
        if minutes := panels(runs, name):
            _draw_panels(minutes, titles[name], folder / name)
        elif found := bars(runs, name):
            _draw_bars(found, titles[name], folder / name)
        else:
            continue
        drawn.append(name)
    return drawn


def _draw_bars(found: Sequence[Bars], title: str, path: Path) -> None:
    from matplotlib.figure import Figure

    labels = list(dict.fromkeys(label for each in found for label in each.spreads))
    figure = Figure(figsize=(WIDTH, 1.4 + BAR * len(labels)), layout="constrained")
    figure.suptitle(f"{title}\nmedian, least and most of the rounds", fontsize="medium")
    all_axes = figure.subplots(1, len(found), sharey=True, squeeze=False)
    for axes, each in zip(all_axes[0], found, strict=True):
        values = list(each.spreads.values())
        axes.barh(
            [labels.index(label) for label in each.spreads], [value.median for value in values],
            xerr=[[value.median - value.least for value in values], [value.most - value.median for value in values]],
            color=_colours(each.spreads), capsize=2, ecolor="black",
        )  # fmt: skip
        axes.set_xlabel(each.heading)
        axes.grid(axis="x", alpha=0.3)
    # The first entrant stands at the top.
    all_axes[0, 0].set_yticks(range(len(labels)), labels)
    all_axes[0, 0].invert_yaxis()
    _save(figure, path)


def _draw_panels(found: Sequence[Panel], title: str, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 1.0 + PANEL * len(found)), layout="constrained")
    figure.suptitle(title)
    all_axes = figure.subplots(len(found), sharex=True, squeeze=False)
    for axes, panel in zip(all_axes[:, 0], found, strict=True):
        for label, line in panel.lines.items():
            axes.plot([minute for minute, _ in line], [value for _, value in line], marker="o", label=label)
        axes.set_ylabel(panel.heading)
        # From nothing: a drift looks as large as it is.
        most = max((value for line in panel.lines.values() for _, value in line), default=0.0)
        axes.set_ylim(0, most * 1.15 or 1)
        axes.grid(alpha=0.3)
    all_axes[-1, 0].set_xlabel("minute")
    minutes = {minute for panel in found for line in panel.lines.values() for minute, _ in line}
    all_axes[-1, 0].set_xticks(sorted(minutes))
    all_axes[0, 0].legend()
    _save(figure, path)


def _colours(labels: Iterable[str]) -> list[str]:
    """Return Conveyor's colour, that of the references, and that of all others."""
    own = {MINE: "#2a6fbb", "ceiling": "#9a9a9a", "bare": "#9a9a9a"}
    return [own.get(label.partition("@")[0], "#d98b3a") for label in labels]


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path.with_suffix(".png"), dpi=120)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
