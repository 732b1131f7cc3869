"""A workflow as a graph: its jobs in layers, each with its state in colour, sign and word."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .layout import NODE_HEIGHT, NODE_WIDTH, lay_out
from .relations import (
    EDGES,
    NODES,
    Counts,
    Relative,
    Tie,
    count_states,
    read_ties_among,
)
from .render import sign_of

# Of a job in a workflow that is too large to draw: so many of what it needs, and of what needs it.
NEIGHBOURS: Final = 12
# Characters that fit into a node.
_LABEL: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A job in the drawing."""

    x: int
    y: int
    job: Relative
    label: str
    says: str
    is_here: bool

    @property
    def title(self) -> str:
        """What is said of it in full."""
        return f"job {self.job.id}, {self.job.label}, {self.says}: {self.job.task}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An edge in the drawing."""

    path: str
    on_failure: str
    resolved: bool
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The drawing of a graph; `node_width` and `node_height` are those of every node."""

    width: int
    height: int
    nodes: list[Node]
    lines: list[Line]
    node_width: int = NODE_WIDTH
    node_height: int = NODE_HEIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What a page shows of a workflow: the drawing of it, or, where it is too large, how many are in which state."""

    graph: Graph | None = None
    counts: Counts | None = None


def read_picture(alias: str, workflow_id: int, members: Sequence[Relative], *, here: int | None = None) -> Picture:
    """Return the picture of a workflow, of which `members` are all jobs, or more than can be drawn.

    `here` is the job whose page it is for.
    """
    if len(members) <= NODES:
        ties = read_ties_among(alias, [job.id for job in members])
        if len(ties) <= EDGES:
            return Picture(graph=draw({job.id: job for job in members}, ties, here=here))
    return Picture(counts=count_states(alias, workflow_id))


def draw_nearby(here: Relative, needs: Sequence[Tie], dependants: Sequence[Tie], jobs: Mapping[int, Relative]) -> Graph:
    """Draw a job with the first NEIGHBOURS of those that it needs, and of those that need it."""
    ties = [*needs[:NEIGHBOURS], *dependants[:NEIGHBOURS]]
    ids = sorted({here.id, *(tie.needs for tie in ties), *(tie.job for tie in ties)})
    return draw({each: here if each == here.id else jobs[each] for each in ids}, ties, here=here.id)


def draw(jobs: Mapping[int, Relative], ties: Collection[Tie], *, here: int | None = None) -> Graph:
    """Draw jobs and those edges of which both ends are among them."""
    inner = {(tie.needs, tie.job): tie for tie in ties if tie.needs in jobs and tie.job in jobs}
    callbacks = [job.id for job in jobs.values() if job.role]
    layout = lay_out(jobs.keys(), inner.keys(), last=callbacks)
    return Graph(
        width=layout.width,
        height=layout.height,
        nodes=[_node(job, *layout.places[job.id], is_here=job.id == here) for job in jobs.values()],
        lines=[_line(tie, layout.paths[edge], jobs) for edge, tie in inner.items()],
    )


def _node(job: Relative, x: int, y: int, *, is_here: bool) -> Node:
    label = job.label if len(job.label) <= _LABEL else f"{job.label[: _LABEL - 1]}…"
    role = f" · {job.role}" if job.role else ""
    return Node(x=x, y=y, job=job, label=label, says=f"{sign_of(job.state)} {job.state}{role}", is_here=is_here)


def _line(tie: Tie, path: str, jobs: Mapping[int, Relative]) -> Line:
    is_open = "resolved" if tie.resolved else "open"
    title = f"{jobs[tie.job].label} needs {jobs[tie.needs].label}; if that fails: {tie.on_failure}; {is_open}"
    return Line(path=path, on_failure=tie.on_failure, resolved=tie.resolved, title=title)
