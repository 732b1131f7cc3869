"""conveyor_explain beside a real worker: what it says of what that does."""

from __future__ import annotations

from conveyor_django.models import Job, Worker
from conveyor_django.operate.explain import explain
from conveyor_django.operate.findings import wrong_now
from tests.support import jobs
from tests.support.factories import JobFactory
from tests.support.processes import running
from tests.support.waits import wait_until


def codes(job_id: int | str) -> list[str]:
    return [reason.code.value for reason in explain(job_id).reasons]


def test_what_a_worker_does(desk):
    runs = jobs.gated.enqueue(desk.folder, "a")
    waits = jobs.gated.enqueue(desk.folder, "b")
    assert codes(waits.id) == ["no_worker", "ahead_in_line"]
    assert [finding.code for finding in wrong_now("default")] == ["no_worker", "no_scheduler"]
    with running("conveyor_worker", "--queues", "default", "--concurrency", "1", lease=10.0) as worker:
        desk.wait_started(1)
        [pid] = worker.child_pids()
        explanation = explain(runs.id)
        assert codes(runs.id) == ["running"]
        assert f":{pid} (" in explanation.reasons[0].text
        assert codes(waits.id) == ["slots_in_use"]
        # Its scheduler is seen, and its listener.
        wait_until(lambda: wrong_now("default") == [], "nothing is wrong")
        stranger = JobFactory(queue="orders", task=jobs.gated.module_path)
        assert codes(stranger.pk) == ["queue_without_worker"]
        assert [finding.code for finding in wrong_now("default")] == ["queue_without_worker"]
        desk.go()
        unknown = JobFactory(task="tests.support.jobs.not_there")
        wait_until(lambda: Job.objects.get(pk=unknown.pk).release_count == 1, "it was given back")
        reason = explain(unknown.pk).reasons[0]
        assert reason.code == "task_unknown"
        assert f"the live worker {Worker.objects.get().host}:{pid}" in reason.text
    assert codes(runs.id) == ["succeeded"]
