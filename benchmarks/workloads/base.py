"""What a workload is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..catalog import PEERS, Entrant, PeerInfo, entrants_for, parse
from ..stage import Stage

# The size of a payload that looks like one, in bytes; every workload but the first has it.
PAYLOAD: Final = 600


@dataclass(frozen=True, kw_only=True)
class Workload:
    """Something to measure on a stage; `measure` returns its figures, by name.

    `load` picks each queue's settings in the catalogue; `entrants` adds settings of the workload's own. `keys`:
    Conveyor's jobs have idempotency keys, which no other queue has. `is_long`: minutes per run, for `make bench-full`.
    """

    name: str
    title: str
    measure: Callable[[Stage], dict[str, Any]]
    load: str = "32"
    entrants: tuple[str, ...] = ()
    pad: int = PAYLOAD
    keys: bool = True
    is_long: bool = False
    # Whether every queue takes part, or only those of `entrants`.
    is_common: bool = True

    def takes(self, names: list[str]) -> list[Entrant]:
        """Return who takes part, of the queues named."""
        common = [entrant for name in names for entrant in self._common(PEERS[name])] if self.is_common else []
        own = [parse(text) for text in self.entrants]
        return [*common, *(entrant for entrant in own if entrant.peer.name in names)]

    def _common(self, peer: PeerInfo) -> list[Entrant]:
        return entrants_for(peer, self.load)
