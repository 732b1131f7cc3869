"""Commands as processes, and what the demo shows of them."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path

import pytest

from testproject.shop.demo.programs import Log, Program, ProgramFailed
from testproject.shop.demo.screen import Screen
from tests.support.databases import process_environment
from tests.support.waits import wait_until


@pytest.mark.django_db(transaction=True)
def test_a_program_runs_until_it_is_stopped_and_its_events_are_read(tmp_path: Path) -> None:
    with Program("conveyor_scheduler", log=tmp_path / "log", environ=process_environment()) as program:
        wait_until(lambda: bool(program.log.events("scheduler.connected")), "the scheduler is connected")
        assert program.log.events("scheduler.connected", database="default", process=program.pid)
        assert not program.log.events("scheduler.connected", database="other")
        program.require_running()
        program.stop()


def test_a_program_that_ends_early_fails_with_its_last_words(tmp_path: Path) -> None:
    environ = {"DATABASE_URL": "postgres:///unused"}
    with Program("conveyor_sheduler", log=tmp_path / "log", environ=environ) as program:
        words = r"(?s)conveyor_sheduler ended with 1; see .*/log:\nUnknown command"
        with pytest.raises(ProgramFailed, match=words):
            wait_until(lambda: program.require_running() is not None, "it has failed")
        with pytest.raises(ProgramFailed, match=words):
            program.stop()


@pytest.mark.django_db(transaction=True)
def test_a_program_does_not_outlive_its_block(tmp_path: Path) -> None:
    with Program("conveyor_scheduler", log=tmp_path / "log", environ=process_environment()) as program:
        os.kill(program.pid, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(program.pid, 0)


def test_half_a_line_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text('{"event": "a"}\nnot JSON\n{"event": "b", "n": 1}\n{"event": "b"')
    log = Log(path)
    assert [event["event"] for event in log.events("a") + log.events("b")] == ["a", "b"]
    with path.open("a") as file:
        file.write(', "n": 2}\n')
    assert [event["n"] for event in log.events("b")] == [1, 2]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_for_terminals_only() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.progress(1, 2, "in work")
    screen.say("a line")
    screen.close()
    assert out.getvalue() == "a line\n"


def test_lines_stand_above_the_bar_and_the_bar_goes_in_the_end() -> None:
    out = Terminal()
    screen = Screen(out)
    screen.progress(50, 100, "in work")
    screen.progress(50, 100, "in work")
    screen.say("a line")
    screen.progress(100, 100, "done")
    screen.close()
    bars = re.findall(r"(█*)(·*) (\d+)/100  ([\w ]+)", out.getvalue())
    assert bars == [("█" * 15, "·" * 15, "50", "in work"), ("█" * 30, "", "100", "done")]
    assert "\r\x1b[Ka line\n" in out.getvalue()
    assert out.getvalue().endswith("\r\x1b[K")
