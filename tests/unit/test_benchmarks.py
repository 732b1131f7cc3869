"""The pure parts of the benchmarks: arithmetic, record and gate, sizes, rounds and pins."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from benchmarks import recorder
from benchmarks.catalog import PEERS, entrants_for, parse
from benchmarks.environments import PINS, PYTHON, default_python
from benchmarks.figures import (
    Spread,
    latencies,
    lost_and_doubled,
    minutes,
    per_job,
    percentile,
    rate,
    spread,
)
from benchmarks.gate import Gate
from benchmarks.recorder import Recorder, Run
from benchmarks.report import PAGE
from benchmarks.run import alone, in_turn
from benchmarks.sizes import QUICK, Sizes
from benchmarks.workloads import workloads
from benchmarks.workloads.drain import starts_per_second
from benchmarks.workloads.latency import during
from tests.support.waits import wait_until


def test_a_percentile_is_one_of_the_values():
    assert [percentile([4.0, 1.0, 3.0, 2.0], share) for share in (0, 0.5, 0.75, 0.76, 1)] == [1, 2, 3, 4, 4]
    assert percentile(list(range(1, 101)), 0.99) == 99


def test_no_values_have_no_percentile():
    with pytest.raises(ValueError, match="no percentile"):
        percentile([], 0.5)


def test_rates():
    assert rate(500, 0.25) == 2000.0
    assert per_job(1000, 3, 0) == 333
    assert per_job(1000, 0) is None


def test_latencies_are_in_milliseconds():
    assert latencies([Run(0, 1.0, 1.002)]) == {"p50_ms": 2.0, "p95_ms": 2.0, "p99_ms": 2.0, "max_ms": 2.0}
    assert latencies([]) == {}


def test_lost_are_numbers_that_never_ran_and_doubled_those_that_ran_again():
    runs = [Run(number, 0.0, 0.0) for number in (0, 1, 1, 1, 3)]
    assert lost_and_doubled(range(4), runs) == (1, 1)


def test_the_spread_leaves_out_rounds_without_the_figure():
    assert spread([3.0, None, 1.0, 2.0]) == Spread(1.0, 2.0, 3.0)
    assert spread([None]) is None


def test_runs_by_minute_have_the_empty_minutes_too():
    runs = [Run(0, 0.0, 10.0), Run(1, 0.0, 135.0)]
    assert [len(minute) for minute in minutes(runs, 10.0)] == [1, 0, 1]


def test_a_minute_may_be_shorter():
    assert [len(minute) for minute in minutes([Run(0, 0.0, 10.0), Run(1, 0.0, 16.5)], 10.0, 6.0)] == [1, 1]


def test_starts_are_counted_from_the_common_start_on():
    assert starts_per_second([Run(0, 0.0, 9.0), Run(1, 0.0, 10.0), Run(2, 0.0, 14.0)], 10.0) == 0.5
    assert starts_per_second([Run(0, 0.0, 9.0)], 10.0) == 0.0


def test_jobs_during_a_burst_are_those_enqueued_while_it_ran():
    runs = [Run(number, enqueued, 99.0) for number, enqueued in enumerate((1.0, 2.0, 3.0, 4.0))]
    assert [run.sequence for run in during(runs, 2.0, 3.0)] == [1, 2]


def test_what_is_noted_is_read_in_the_order_of_the_starts(tmp_path):
    mine = Recorder(tmp_path)
    for number in (7, 3):
        mine.note(number, 1.5)
    assert recorder.count(tmp_path) == 2
    assert [(run.sequence, run.enqueued) for run in recorder.runs(tmp_path)] == [(7, 1.5), (3, 1.5)]
    assert recorder.processes(tmp_path) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="/proc/locks says who waits")
def test_nobody_gets_through_a_gate_before_it_opens(tmp_path):
    through = threading.Event()

    def handler() -> None:
        Recorder(tmp_path).note(1, 0.0)
        through.set()

    with Gate(tmp_path) as gate:
        thread = threading.Thread(target=handler)
        thread.start()
        # What has come to the gate is recorded, so that it can be counted who is there.
        gate.gather(1, [], 10.0)
        wait_until(lambda: is_waiting_for_lock(tmp_path / recorder.GATE), "the handler waits at the gate")
        assert not through.is_set()
        gate.open()
        thread.join(10.0)
        assert through.is_set()


def is_waiting_for_lock(path: Path) -> bool:
    """Say whether somebody waits for a lock on the file: /proc/locks marks those that do with an arrow."""
    waiting = [line.split() for line in Path("/proc/locks").read_text().splitlines() if "->" in line]
    return any(words[6].endswith(f":{path.stat().st_ino}") for words in waiting)


def test_a_gate_that_not_all_come_to_ends_the_run(tmp_path):
    with Gate(tmp_path) as gate, pytest.raises(RuntimeError, match="of 2 processes 0 have started"):
        gate.gather(2, [], 0.0)


def test_a_worker_that_ends_at_the_gate_ends_the_run(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
    ended.wait()
    with Gate(tmp_path) as gate, pytest.raises(RuntimeError, match=r"have ended before .* \[3\]"):
        gate.gather(1, [ended], 10.0)


def test_an_entrant_is_written_as_it_is_read():
    entrant = parse("pgqueuer@processes=2,batch=100")
    assert entrant.options == {"processes": 2, "batch": 100}
    assert (entrant.label, entrant.commands) == ("pgqueuer@processes=2,batch=100", 2)
    assert parse("conveyor@processes=4").commands == 1


def test_the_gate_waits_for_all_processes_of_all_databases():
    assert parse("conveyor@processes=4,databases=2").processes == 8
    assert parse("oban").processes == 1


def test_every_requirement_and_what_comes_with_it_is_pinned():
    pins = dict(line.split("==") for line in PINS.read_text().splitlines() if not line.startswith("#"))
    for peer in PEERS.values():
        for requirement in peer.requirements:
            name, version = re.sub(r"\[.*\]", "", requirement).split("==")
            assert pins[name.lower()] == version


def test_an_interpreter_that_does_not_run_is_passed_over(tmp_path, monkeypatch):
    # As a shim of pyenv is, where no version is chosen.
    shim, real = tmp_path / "bin" / PYTHON, tmp_path / "pyenv" / "versions" / "3.13.1" / "bin" / PYTHON
    for script, status in ((shim, 1), (real, 0)):
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\nexit {status}\n")
        script.chmod(0o700)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert default_python() == str(real)
    real.unlink()
    assert default_python() == sys.executable


def test_sizes_are_given_by_name():
    sizes = Sizes().but(["backlog=10000000", "minute=0.5"])
    assert (sizes.backlog, sizes.minute, sizes.small) == (10_000_000, 0.5, 500)


@pytest.mark.parametrize("text", ["much=1", "backlog", "backlog=many"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ValueError, match=r"no size|invalid literal"):
        Sizes().but([text])


def test_each_round_begins_with_another_entrant_and_has_all():
    entrants = [parse(name) for name in ("conveyor", "oban", "awa")]
    assert [[entrant.peer.name for entrant in in_turn(entrants, number)] for number in (0, 1, 5)] == [
        ["conveyor", "oban", "awa"],
        ["oban", "awa", "conveyor"],
        ["awa", "conveyor", "oban"],
    ]
    assert in_turn([], 3) == []


def test_two_runs_do_not_share_a_folder(tmp_path):
    with alone(tmp_path), pytest.raises(SystemExit, match="another run"), alone(tmp_path):
        pass
    with alone(tmp_path):
        pass


def test_the_entrants_and_titles_of_a_workload_have_its_sizes():
    backlog = workloads()["backlog"]
    assert [entrant.options["backlog"] for entrant in backlog.takes(["conveyor"], QUICK)] == [QUICK.few, QUICK.backlog]
    assert backlog.titled(Sizes()) == "a backlog of 1,000 and of 1,000,000"


def test_the_page_has_a_place_for_every_table():
    page = PAGE.read_text()
    names = [*workloads(), "measured-on", "snapshot-minutes", "steady-minutes"]
    assert [name for name in names if f"<!-- {name} -->\n" not in page] == []


@pytest.mark.parametrize("text", ["nobody", "oban@fast"])
def test_what_is_no_entrant_is_refused(text):
    with pytest.raises(ValueError, match=r"no job queue|no option"):
        parse(text)


def test_a_reference_takes_part_only_where_it_has_settings():
    assert entrants_for(PEERS["ceiling"], "idle") == []
    assert entrants_for(PEERS["oban"], "idle") == entrants_for(PEERS["oban"], "32")
