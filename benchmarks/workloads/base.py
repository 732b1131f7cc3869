"""What a workload is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

from ..catalog import PEERS, Entrant, entrants_for, parse
from ..sizes import Sizes
from ..stage import Stage

# The size of a payload that looks like one, in bytes; every workload but the first has it.
PAYLOAD: Final = 600


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Something to measure on a stage; `measure` returns its figures, by name.

    `load` picks each queue's settings in the catalogue; `entrants` adds settings of the workload's own. Both these and
    the title may have a size in braces. `keys`: Conveyor's jobs have idempotency keys, which no other queue has.
    `is_short`: for `make bench`; `is_long`: minutes per run, for `make bench-full`.
    """

    name: str
    title: str
    measure: Callable[[Stage, Sizes], dict[str, Any]]
    load: str = "32"
    entrants: tuple[str, ...] = ()
    pad: int = PAYLOAD
    keys: bool = True
    is_short: bool = False
    is_long: bool = False
    # Whether every queue takes part, or only those of `entrants`.
    is_common: bool = True

    def titled(self, sizes: Sizes) -> str:
        """Return the title at these sizes."""
        return self.title.format(**asdict(sizes))

    def takes(self, names: list[str], sizes: Sizes) -> list[Entrant]:
        """Return who takes part, of the queues named."""
        common = names if self.is_common else []
        found = [entrant for name in common for entrant in entrants_for(PEERS[name], self.load)]
        own = [parse(text.format(**asdict(sizes))) for text in self.entrants]
        return [*found, *(entrant for entrant in own if entrant.peer.name in names)]
