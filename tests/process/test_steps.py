"""A step-by-step handler whose process is killed, again and again, resumes where it stopped."""

from __future__ import annotations

from collections import Counter

from conveyor_django.models import Attempt, Ledger
from tests.support import jobs
from tests.support.processes import running


def test_killed_after_each_of_its_steps_it_takes_each_of_them_once(desk, all_end):
    jobs.dies_after_each_step.enqueue(desk.folder)
    # Two children: while one is replaced, the other goes on.
    with running("conveyor_worker", "--processes", "2", "--concurrency", "1", CONVEYOR_MAX_LOST="9") as worker:
        [job] = all_end()
        assert len(worker.log("child.died", exit=-9)) == 5
    assert (job.state, job.lost_count, job.attempt) == ("succeeded", 5, 1)
    assert Counter(name for _, name, _ in desk.lines("done")) == {f"step-{n}": 1 for n in range(1, 6)}
    assert {a.verb for a in Attempt.objects.filter(lease_version__lt=job.lease_version)} <= {"rescue", "release"}
    recorded = dict(Ledger.objects.values_list("step", "result"))
    assert recorded == {f"step-{n}": None for n in range(1, 6)} | {"": "all done"}
