"""A child that ends as it was asked to is no death, whenever the signal meets it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from conveyor_django.models import Worker
from tests.support import jobs
from tests.support.processes import Process, running
from tests.support.waits import wait_until

# Python reads it before it runs anything else: a child stands still before it could listen to a signal.
STANDS_STILL = """
import os, sys
if "conveyor_django.worker" in sys.orig_argv:
    with open({folder!r} + "/journal", "a") as journal:
        journal.write(f"start import {{os.getpid()}}\\n")
    os.read(os.open({folder!r} + "/gate", os.O_RDWR), 1)
"""


def assert_no_death(worker: Process, **ended: object) -> None:
    assert worker.wait() == 0
    assert not worker.log("child.died")
    assert worker.log("child.ended", **ended)
    assert worker.log("worker.totals")[0]["deaths"] == 0


def test_a_signal_that_meets_one_that_is_just_ending_by_itself(desk):
    """Python takes its handlers away before it has ended: from then on a signal kills it."""
    os.mkfifo(Path(desk.folder) / "gate")
    jobs.lingers.enqueue(desk.folder, "a")
    with running("conveyor_worker", "--drain") as worker:
        wait_until(lambda: desk.lines("linger", "a"), "the child takes itself down")
        worker.signal(signal.SIGTERM)
        assert_no_death(worker, exit="SIGTERM")
        assert not worker.log("takeover.done")
        assert worker.log("worker.totals")[0]["succeeded"] == 1
    assert not Worker.objects.exists()


def test_a_signal_that_meets_one_that_does_not_listen_yet(desk, tmp_path):
    os.mkfifo(Path(desk.folder) / "gate")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(STANDS_STILL.format(folder=desk.folder))
    with running("conveyor_worker", PYTHONPATH=str(site)) as worker:
        desk.wait_started(1, "import")
        worker.signal(signal.SIGTERM)
        assert_no_death(worker, exit="SIGTERM")


def test_a_kill_in_an_ordered_stop_is_a_death(desk):
    jobs.gated.enqueue(desk.folder, "a")
    with running("conveyor_worker", grace=600.0) as worker:
        [pid] = desk.wait_started(1)
        worker.signal(signal.SIGTERM)
        worker.wait_for("worker.stopping")
        os.kill(pid, signal.SIGKILL)
        assert worker.wait() == 0
        assert worker.log("child.died", signal="SIGKILL")
        assert worker.log("worker.totals")[0]["deaths"] == 1
