"""The demo's faults strike real processes, and only when it costs something."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from testproject.shop.demo.faults import Freeze, Kill, Stage
from testproject.shop.demo.programs import Log
from testproject.shop.demo.screen import Screen
from testproject.shop.demo.store import Child, View
from tests.support.waits import wait_until

Victim = subprocess.Popen[bytes]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    """The log of the worker to which the victims are said to belong."""
    (tmp_path / "log").touch()
    return Log(tmp_path / "log")


def write(log: Log, name: str, **fields: int) -> None:
    with log.path.open("a") as file:
        print(json.dumps({"event": name, **fields}), file=file)


@pytest.fixture
def victim() -> Iterator[Victim]:
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.communicate()


@pytest.fixture
def child(victim: Victim) -> Child:
    return Child(victim.pid, uuid.uuid4())


def view(*children: Child, running: int = 0, lost: int = 0) -> View:
    first = children[0]
    return View(jobs=10, ended=5, children=list(children), running={first.owner: running}, lost={first.owner: lost})


def wait_for_state(child: Child, states: str) -> None:
    """Wait until the system shows the process in one of these states (T is stopped)."""
    stat = Path(f"/proc/{child.pid}/stat")
    wait_until(lambda: stat.read_text().rsplit(")", 1)[1].split()[0] in states, f"{child} is {states}")


def screen() -> Screen:
    return Screen(io.StringIO())


def test_a_child_without_jobs_is_left_alone(child: Child, log: Log, victim: Victim) -> None:
    freeze, kill = Freeze(log, screen()), Kill(log, screen())
    freeze.step(view(child))
    kill.step(view(child), spared=None)
    assert freeze.stage is kill.stage is Stage.WAITING
    assert victim.poll() is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_freeze_lasts_until_the_leases_are_taken_over_and_is_over_with_the_refusal(child: Child, log: Log) -> None:
    freeze = Freeze(log, screen())
    freeze.step(view(child, running=3))
    wait_for_state(child, "T")
    freeze.step(view(child, running=3))
    assert freeze.stage is Stage.FROZEN
    freeze.step(view(child, running=1, lost=2))
    assert freeze.stage is Stage.FROZEN
    freeze.step(view(child, lost=3))
    wait_for_state(child, "SR")
    freeze.step(view(child, lost=3))
    assert not freeze.is_over
    write(log, "outcome.refused", process=child.pid)
    freeze.step(view(child, lost=3))
    assert freeze.is_over
    assert freeze.leases_lost(view(child, lost=3)) == 3


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
def test_a_freeze_that_hit_nothing_is_tried_again(child: Child, log: Log) -> None:
    freeze = Freeze(log, screen())
    freeze.step(view(child, running=1))
    freeze.step(view(child, running=0))
    assert freeze.stage is Stage.WAITING
    wait_for_state(child, "SR")


def test_a_kill_is_over_once_its_leases_are_taken_over(child: Child, log: Log, victim: Victim) -> None:
    kill = Kill(log, screen())
    kill.step(view(child, running=2), spared=None)
    assert victim.wait() == -signal.SIGKILL
    kill.step(view(child, running=2), spared=None)
    assert not kill.is_over
    kill.step(view(child, lost=2), spared=None)
    assert kill.is_over


def test_a_kill_that_cost_nothing_is_tried_again(child: Child, log: Log) -> None:
    kill = Kill(log, screen())
    kill.step(view(child, running=2), spared=None)
    kill.step(view(child), spared=None)
    # The worker may not have noticed yet, and rescue more.
    assert kill.stage is Stage.STRUCK
    write(log, "child.died", pid=child.pid)
    kill.step(view(child), spared=None)
    assert kill.stage is Stage.WAITING


def test_the_frozen_child_is_not_killed(child: Child, log: Log, victim: Victim) -> None:
    kill = Kill(log, screen())
    kill.step(view(child, running=8), spared=child)
    assert kill.stage is Stage.WAITING
    assert victim.poll() is None
