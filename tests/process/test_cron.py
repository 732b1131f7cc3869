"""Cron with real schedulers that are killed at any moment: each second's tick exactly once."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import random
import signal
from collections import Counter
from collections.abc import Iterator

import pytest

from conveyor_django.models import Cron, Job

from ..support.connections import scalar
from ..support.factories import CronFactory
from ..support.processes import Process, running
from ..support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

SECOND = dt.timedelta(seconds=1)


@pytest.fixture
def began(watcher) -> dt.datetime:
    """The second of the database's clock at which the entries begin."""
    return scalar(watcher, "SELECT date_trunc('second', clock_timestamp())")


class Schedulers:
    """So many `conveyor_scheduler` processes, of which any may be killed and replaced."""

    def __init__(self, stack: contextlib.ExitStack, count: int) -> None:
        self._stack = stack
        self.living = [self._start() for _ in range(count)]
        self.killed = 0

    def _start(self) -> Process:
        return self._stack.enter_context(running("conveyor_scheduler"))

    def kill_one(self, chance: random.Random) -> None:
        """Kill one with SIGKILL and start another in its place."""
        place = chance.randrange(len(self.living))
        os.kill(self.living[place].pid, signal.SIGKILL)
        self.living[place].wait()
        self.killed += 1
        self.living[place] = self._start()

    def wait_until_one_has_ticked(self, last_tick: dt.datetime) -> None:
        """Wait until every entry has come to that tick."""
        wait_until(
            lambda: all(tick >= last_tick for tick in Cron.objects.values_list("last_tick", flat=True)),
            f"every entry has ticked at {last_tick}",
            patience=60.0,
        )


@contextlib.contextmanager
def schedulers(count: int) -> Iterator[Schedulers]:
    with contextlib.ExitStack() as stack:
        yield Schedulers(stack, count)


def kill_at_random(fleet: Schedulers, until: dt.datetime, watcher, seed: int) -> None:
    """Kill one after the other, each at any moment of some second, until that time of the database's clock."""
    chance = random.Random(seed)  # noqa: S311
    while (now := scalar(watcher, "SELECT clock_timestamp()")) < until:
        moment = now + chance.uniform(0.0, 1.0) * SECOND
        wait_until(lambda moment=moment: scalar(watcher, "SELECT clock_timestamp()") >= moment, "its moment has come")
        fleet.kill_one(chance)


def assert_each_second_once(began: dt.datetime) -> None:
    """Judge by the table of jobs alone, and by what is in it besides the key, which is unique by itself."""
    for entry in Cron.objects.all():
        jobs = Job.objects.filter(payload__args=[entry.name])
        ended = entry.last_tick
        expected = [began + n * SECOND for n in range(1, int((ended - began) / SECOND) + 1)]
        keys = [f"conveyor:cron:{entry.name}:{tick:%Y-%m-%dT%H:%M:%SZ}" for tick in expected]
        assert sorted(jobs.values_list("idempotency_key", flat=True)) == keys
        if not entry.jitter_seconds:
            assert Counter(jobs.values_list("run_at", flat=True)) == Counter(expected)
        assert entry.last_job_id == jobs.get(idempotency_key=keys[-1]).pk


@pytest.mark.parametrize(
    ("seconds", "seed"),
    [pytest.param(8, 1, id="8 s"), pytest.param(60, 2, id="60 s", marks=[pytest.mark.long, pytest.mark.timeout(300)])],
)
def test_three_schedulers_killed_at_random_tick_each_second_once(watcher, began, seconds, seed):
    for name, jitter in (("plain", 0.0), ("jittered", 3.0), ("other", 0.0)):
        CronFactory(
            name=name, args=[name], expression="* * * * * *", missed="all", max_missed=1000, jitter_seconds=jitter,
            last_tick=began,
        )  # fmt: skip
    with schedulers(3) as fleet:
        kill_at_random(fleet, began + seconds * SECOND, watcher, seed)
        # Whoever is left makes up for what was missed.
        fleet.wait_until_one_has_ticked(scalar(watcher, "SELECT date_trunc('second', clock_timestamp())"))
    assert fleet.killed >= seconds // 8
    assert_each_second_once(began)


def test_a_scheduler_writes_down_what_the_project_s_tasks_declare(tmp_path):
    """The command imports the task modules, as the worker does."""
    package = tmp_path / "nightly"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "tasks.py").write_text(
        "from conveyor_django import cron, task\n\n\n"
        '@cron("30 2 * * *", tz="Europe/Berlin", name="nightly", args=["x"])\n@task\ndef clean(what):\n    pass\n'
    )
    (tmp_path / "with_nightly.py").write_text(
        'from testproject.settings import *  # noqa: F403\n\nINSTALLED_APPS += ["nightly"]  # noqa: F405\n'
    )
    changes = {"PYTHONPATH": str(tmp_path), "DJANGO_SETTINGS_MODULE": "with_nightly"}
    with running("conveyor_scheduler", "--once", **changes) as process:
        assert process.wait() == 0
    entry = Cron.objects.get()
    assert (entry.name, entry.task, entry.declared, entry.args) == ("nightly", "nightly.tasks.clean", True, ["x"])
    assert entry.last_tick is not None
