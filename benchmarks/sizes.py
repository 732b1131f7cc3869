"""How many jobs and how long: what the workloads are measured with, and what a trial takes instead. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The sizes of all workloads; jobs, unless said otherwise."""

    # (a), and (b) as well as (f), (i), (j)
    small: int = 500
    large: int = 20_000
    # (c): timed jobs, so many in a second, and what is enqueued before them
    timed: int = 1_000
    rate: int = 100
    burst: int = 20_000
    # (d)
    effects: int = 5_000
    # (e): one by one, and in bulk
    singly: int = 2_000
    bulk: int = 20_000
    # (f): what waits in the larger and the smaller case, and how many claims are timed
    backlog: int = 1_000_000
    few: int = 1_000
    claims: int = 500
    # (g) and (h): minutes; jobs that are kept waiting while a snapshot is held; jobs in a second
    held: int = 5
    steady: int = 10
    ahead: int = 10_000
    steady_rate: int = 500
    # The length of a minute and for how long what has succeeded is kept, in seconds.
    minute: float = 60.0
    retention: float = 30.0

    def but(self, given: Iterable[str]) -> Sizes:
        """Return the sizes with what `given` says, each as name=number. Raises ValueError."""
        kinds = {name: type(value) for name, value in asdict(self).items()}
        own: dict[str, int | float] = {}
        for text in given:
            name, _, number = text.partition("=")
            if name not in kinds:
                raise ValueError(f"{name!r} is no size; there are {', '.join(kinds)}")
            own[name] = kinds[name](number)
        return replace(self, **own)  # type: ignore[arg-type]


# Each workload in seconds: whether everything works, not how fast.
QUICK = Sizes(
    small=100, large=2_000, timed=200, burst=2_000, effects=500, singly=200, bulk=2_000, backlog=20_000, claims=50,
    held=2, steady=2, ahead=2_000, steady_rate=200, minute=6.0, retention=2.0,
)  # fmt: skip
