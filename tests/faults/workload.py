"""What is enqueued: a function of the number of jobs and of the seed alone."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

# The tasks of tests.faults.jobs that are enqueued one by one, and what each is there for.
KINDS: Final = (
    "effect",  # the last part of the handler is one commit with the success
    "atomic",  # all of it is
    "steps",  # durable steps, one of them in one transaction with its writes
    "coroutine",  # the same on the event loop
    "fenced",  # a transaction of its own, fenced
    "retried",  # its first run ends with Retry
    "capped",  # in a queue with an exact cap
    "keyed",  # under a concurrency key
)
# The tasks of tests.faults.stubborn, and what a zombie of each does.
STUBBORN: Final = (
    "returns",  # ends well: succeed_jobs
    "raises",  # ends otherwise: end_attempts
    "records",  # records a step: record_step
    "fences",  # writes behind the fence: hold_fence
)
# Those whose effect does not commit with their success.
APART: Final = ("coroutine", "fenced", *STUBBORN)
# How the names of the cron entry's jobs begin, which are no part of the plan.
TICK: Final = "tick-"
# Jobs between two graphs, the graph included.
GRAPH_EVERY: Final = 20
# The jobs of a graph: a root, so many leaves that need it, one that needs them all, and the callback.
LEAVES: Final = 3
GRAPH_SIZE: Final = LEAVES + 3
# Places of the queue `orders`, jobs of one key that run at once, and keys.
EXACT_CAP: Final = 3
KEY_CAP: Final = 1
KEYS: Final = 4
# Between these, in milliseconds, a handler's work takes.
WORK: Final = (50, 600)


@dataclass(frozen=True, slots=True)
class Single:
    """One call of a task; `work` in milliseconds."""

    name: str
    kind: str
    work: int
    # Which of the keys; of kind `keyed` alone.
    key: str | None = None

    @property
    def names(self) -> list[str]:
        """The jobs' names."""
        return [self.name]


@dataclass(frozen=True, slots=True)
class Graph:
    """A workflow: fan-out, fan-in and a callback; `work` of each job in milliseconds."""

    name: str
    work: int

    @property
    def root(self) -> str:
        """The job that the leaves need."""
        return f"{self.name}-root"

    @property
    def leaves(self) -> list[str]:
        """The jobs that need the root."""
        return [f"{self.name}-leaf{number}" for number in range(LEAVES)]

    @property
    def join(self) -> str:
        """The job that needs every leaf."""
        return f"{self.name}-join"

    @property
    def callback(self) -> str:
        """The callback on success."""
        return f"{self.name}-callback"

    @property
    def names(self) -> list[str]:
        """The jobs' names, in an order in which each comes after what it needs."""
        return [self.root, *self.leaves, self.join, self.callback]


def plan(jobs: int, seed: int, *, capped: bool = True, only: Sequence[str] = ()) -> Iterator[Single | Graph]:
    """Yield what to enqueue, `jobs` jobs in all; without caps and keys every claim is by claim_plain_jobs.sql.

    `only`: of these kinds, in turn, and no graphs.
    """
    chance = random.Random(seed)  # noqa: S311 - the same plan for the same seed
    kinds = only or (KINDS if capped else KINDS[:-2])
    number = 0
    while number < jobs:
        if not only and number % GRAPH_EVERY == 0 and jobs - number >= GRAPH_SIZE:
            yield Graph(f"{number:05}-graph", chance.randint(*WORK))
            number += GRAPH_SIZE
            continue
        kind = kinds[number % len(kinds)]
        key = f"key{chance.randrange(KEYS)}" if kind == "keyed" else None
        yield Single(f"{number:05}-{kind}", kind, chance.randint(*WORK), key)
        number += 1


def with_effect(names: Iterable[str]) -> list[str]:
    """Return those of the jobs' names whose effect commits with their success."""
    return [name for name in names if not name.endswith(APART)]
