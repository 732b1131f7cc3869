"""Every scenario holds with the statements as they are, on tables that refuse illegal transitions."""

from __future__ import annotations

import pytest

from ..support.races import Race
from .scenarios import SCENARIOS


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_holds(name: str, race: Race) -> None:
    SCENARIOS[name](race)
