"""Every mutant of the SQL is caught by what a fault can show: judge, answers, trace, or a wait for a frozen lock."""

from __future__ import annotations

from pathlib import Path

import pytest

from conveyor_django.db import Connection
from conveyor_django.sql import statement

from ...concurrency.mutants import Mutant
from .__main__ import main, results_file
from .model import counterparts
from .more import ALL, COVERED, PLAYED, SCENARIOS
from .real import loaded_from
from .table import TRACE, lines

MODEL = Path(__file__).parents[3] / "spec" / "tla" / "mutants"


@pytest.mark.fault
@pytest.mark.timeout(1800)
def test_every_mutant_is_caught(watcher: Connection) -> None:
    missed = [line.mutant for line in lines(PLAYED, watcher) if not line.is_caught]
    assert missed == [mutant.what for mutant in PLAYED if mutant.what in COVERED]


def test_a_mutant_is_caught_by_the_trace(watcher: Connection) -> None:
    [mutant] = [mutant for mutant in PLAYED if mutant.what == "rescue_jobs of leases that last"]
    [line] = lines([mutant], watcher)
    assert line.said[TRACE] == "rescue_jobs: only a lapsed lease is rescued"


def test_a_statement_as_it_is_is_caught_by_nobody(watcher: Connection) -> None:
    same = Mutant("as it is", {"rescue_jobs": statement("rescue_jobs")}, ("rescue_of_a_living_run",))
    [line] = lines([same], watcher)
    assert line.said == {}
    assert not line.is_caught


def test_every_race_has_a_scenario_and_every_guard_of_the_model_its_file() -> None:
    assert {name for mutant in PLAYED for name in mutant.caught_by} <= SCENARIOS.keys()
    assert {name for mutant in PLAYED for name in counterparts(mutant.what)} <= {path.stem for path in MODEL.iterdir()}


def test_who_is_not_played_is_covered() -> None:
    assert {mutant.what for mutant in ALL if mutant not in PLAYED} <= COVERED.keys() <= {mutant.what for mutant in ALL}


@pytest.mark.parametrize("way", [[], ["--real"], ["--scenario", "calm"]])
def test_a_name_that_no_mutant_has_is_an_error_that_says_which_there_are(
    way: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nosuch", *way])
    assert "  rescue_jobs that counts no loss\n" in capsys.readouterr().err


def test_a_run_of_some_mutants_writes_only_where_it_is_told(tmp_path: Path) -> None:
    old = tmp_path / "sql-mutants.json"
    old.write_text("an older run's")
    assert results_file(old.name, folder=None, only="rescue") is None
    assert results_file(old.name, folder=None, only="", default=tmp_path) == old
    assert not old.exists()
    assert results_file(old.name, folder=tmp_path / "there", only="rescue") == tmp_path / "there" / old.name


def test_a_worker_with_a_mutants_package_runs_its_statement() -> None:
    mutant = Mutant("succeed_jobs that says who it is", {"succeed_jobs": "-- a mutant\nSELECT 1\n"}, ())
    assert loaded_from(mutant, "succeed_jobs") == "-- a mutant\nSELECT 1\n"
    assert loaded_from(mutant, "rescue_jobs") == statement("rescue_jobs")
