"""What a scenario is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType

from ..stage import Stage


def nothing_around(stage: Stage) -> AbstractContextManager[None]:
    """Put nothing between the processes and the server."""
    return nullcontext()


def no_schedule(jobs: int, seed: int) -> list[str]:
    """Return the schedule of a strike that has none."""
    return []


def at_a_third(fault: Callable[[Stage], None]) -> Callable[[Stage], None]:
    """Strike once, when about a third of the jobs has begun: the seed decides exactly when."""

    def strike(stage: Stage) -> None:
        stage.wait_begun(0.2, 0.4)
        fault(stage)

    return strike


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One way in which things go wrong while jobs are enqueued and run.

    `around` is entered on the migrated server before any process starts, and left when all have ended: it may set
    `stage.environment`, such as another DATABASE_URL. `strike` waits for its moment, injects the fault and heals it,
    in blocks of ``with stage.fault(...)``; the run goes on until every job has ended.
    """

    name: str
    # One sentence, for the table of results.
    what: str
    strike: Callable[[Stage], None]
    around: Callable[[Stage], AbstractContextManager[None]] = nothing_around
    # Seconds.
    lease: float = 3.0
    # Of each worker.
    processes: int = 2
    concurrency: int = 8
    workers: int = 1
    # Further environment of workers, schedulers and producers, of the producer alone; parameters of the server.
    environment: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    producer: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Whether the workload has exact caps and concurrency keys.
    capped: bool = True
    # The kinds of its jobs; none: all of KINDS, and graphs.
    only: Sequence[str] = ()
    # Jobs of the task that only newer code knows, in the end of the producer's plan.
    newcomers: int = 0
    # Whether it takes minutes: run when it is named, only.
    long: bool = False
    # Jobs per second of the producer; None: as many as the default of the run.
    rate: float | None = None
    # Whether the producer waits with its second half for the first fault.
    halves: bool = True
    # What the strike does, where that is a function of the seed and of the number of jobs: for the result.
    schedule: Callable[[int, int], list[str]] = no_schedule

    def result_name(self, jobs: int) -> str:
        """Return the name of its result's file, without the suffix; of a long one there is one for each size."""
        return f"fault-{self.name}-{jobs}" if self.long else f"fault-{self.name}"
