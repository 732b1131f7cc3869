"""Every scenario: all jobs succeed, and neither the judge nor the model objects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .packages import PackageMissing, program
from .result import HEADING
from .run import run
from .scenarios import SCENARIOS, Scenario
from .scenarios.calm import nothing
from .stage import Stage

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


def test_a_fault_that_cannot_be_injected_says_so(tmp_path: Path) -> None:
    """It fails before any process was started, and what it failed of is what is raised; no older result is left."""
    (tmp_path / "fault-impossible.json").write_text("an older run's")

    @contextmanager
    def around(stage: Stage) -> Iterator[None]:
        program("no-such-program", "no-such-package")
        yield

    scenario = Scenario(name="impossible", what="needs what is not there", strike=nothing, around=around)
    with pytest.raises(PackageMissing, match="no-such-package"):
        run(scenario, jobs=1, seed=1, folder=tmp_path)
    assert list(tmp_path.iterdir()) == []
