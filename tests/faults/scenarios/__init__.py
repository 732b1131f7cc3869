"""The scenarios by name, in the order in which they are shown: each module has a list of its own."""

from __future__ import annotations

from typing import Final

from . import calm, clock, deploy, disk, limits, mix, network, pooler, postgres, processes, statements
from .base import Scenario as Scenario

_ALL: Final = (calm, processes, postgres, network, statements, limits, pooler, disk, clock, deploy, mix)

SCENARIOS: Final[dict[str, Scenario]] = {scenario.name: scenario for module in _ALL for scenario in module.SCENARIOS}
