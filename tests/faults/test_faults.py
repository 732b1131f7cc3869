"""Every scenario: all jobs succeed, and neither the judge nor the model objects."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from .result import HEADING
from .run import run
from .scenarios import SCENARIOS

pytestmark = [pytest.mark.fault, pytest.mark.timeout(300)]

JOBS = 60


@pytest.fixture(scope="module")
def show(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Print a line that pytest does not keep to itself; the first is the heading."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def line(text: str) -> None:
        with capture.global_and_fixture_disabled():
            print(text, flush=True)

    line(f"\n{HEADING}")
    return line


@pytest.mark.parametrize("name", [name for name, scenario in SCENARIOS.items() if not scenario.long])
def test_every_job_ends_well_once(name: str, show: Callable[[str], None], request: pytest.FixtureRequest) -> None:
    result = run(SCENARIOS[name], jobs=JOBS, seed=1, folder=request.config.rootpath / "results")
    show(f"\r{result.line()}")
    assert result.wrong == []
    assert (result.accepted, result.succeeded) == (JOBS, JOBS)
