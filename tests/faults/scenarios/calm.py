"""Nothing goes wrong: what the others are measured against."""

from __future__ import annotations

from ..stage import Stage
from .base import Scenario


def nothing(stage: Stage) -> None:
    stage.wait_begun(0.3)
    with stage.fault("nothing"):
        pass


CALM = Scenario(name="calm", what="nothing is broken", strike=nothing)
PLAIN = Scenario(name="calm-plain", what="nothing is broken, and no cap or key is set", strike=nothing, capped=False)
SCENARIOS = [CALM, PLAIN]
