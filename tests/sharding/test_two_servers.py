"""Everything follows a queue to its server: calls in process, and real workers and schedulers for each."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from conveyor_django import cancel, enqueue_many, notify, requeue
from conveyor_django.compat import TaskResultDoesNotExist, TaskResultStatus, task_backends
from conveyor_django.errors import ForeignTransaction, IdempotencyConflict, InvalidArguments
from conveyor_django.models import Job, Worker

from ..support import jobs
from ..support.processes import Desk, running
from ..support.produce import anything
from ..support.server import Server
from ..support.waits import wait_until

sharded = anything.using(queue_name="orders")


def arguments(alias: str) -> list[list[object]]:
    """Return the arguments of the jobs in a database, oldest first."""
    return [job.payload.args for job in Job.objects.using(alias).select_related("payload").order_by("ready_seq")]


def test_a_job_is_stored_on_its_queue_s_server(shard: str, second_server: Server) -> None:
    result = sharded.enqueue(1)
    anything.enqueue(2)
    assert second_server.rows("SELECT queue FROM conveyor_job") == [("orders",)]
    assert [arguments(alias) for alias in (shard, "default")] == [[[1]], [[2]]]
    assert result.id.startswith("other:")


def test_its_result_is_found_there(shard: str) -> None:
    result = sharded.enqueue(1)
    assert task_backends["default"].get_result(result.id).args == [1]
    assert sharded.get_result(result.id).task.queue_name == "orders"
    Job.objects.using(shard).update(state="cancelled", finished_at=timezone.now())
    result.refresh()
    assert result.status == TaskResultStatus.FAILED
    with pytest.raises(TaskResultDoesNotExist):
        task_backends["default"].get_result(result.id.replace("other", "default"))


def test_it_is_part_of_a_transaction_there_and_refused_inside_one_elsewhere(shard: str) -> None:
    with transaction.atomic(using=shard):
        sharded.enqueue(1)
        with pytest.raises(ForeignTransaction):
            anything.enqueue(2)
        transaction.set_rollback(True, using=shard)
    with transaction.atomic(), pytest.raises(ForeignTransaction, match="its queue lives on database 'other'"):
        sharded.enqueue(3)
    with transaction.atomic():
        sharded.enqueue_on_commit(4)
        assert arguments(shard) == []
    assert [arguments(alias) for alias in (shard, "default")] == [[[4]], []]


def test_many_go_there_in_one_transaction(shard: str) -> None:
    results = sharded.enqueue_many((n,) for n in range(3))
    assert [result.id.partition(":")[0] for result in results] == [shard] * 3
    with transaction.atomic(using=shard):
        sharded.enqueue_many([(3,)])
        transaction.set_rollback(True, using=shard)
    assert arguments(shard) == [[0], [1], [2]]


def test_many_for_two_databases_are_refused(shard: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        enqueue_many([anything.bind(1), anything.bind(2), sharded.bind(3)])
    assert str(caught.value) == (
        "enqueue_many stores all of its calls or none, which takes one database: calls[0] is for queue 'default' on "
        "'default', calls[2] for queue 'orders' on 'other'. Call it once for each database."
    )
    assert arguments("default") == arguments(shard) == []


def test_keys_are_looked_up_and_replaced_there(shard: str) -> None:
    keyed = sharded.using(idempotency_key="k")
    first = keyed.enqueue(1)
    assert keyed.enqueue(1).id == first.id
    with pytest.raises(IdempotencyConflict):
        keyed.enqueue(2)
    keyed.using(on_conflict="replace").enqueue(2)
    assert arguments(shard) == [[1], [2]]


def test_cancel_and_requeue_by_whatever_names_the_job(shard: str) -> None:
    here, there = anything.enqueue(1), sharded.enqueue(2)
    number = int(here.id.partition(":")[2])
    Job.objects.using(shard).update(id=number + 1000)
    there = task_backends["default"].get_result(f"other:{number + 1000}")
    anything.enqueue(3)
    Job.objects.filter(id__gt=number).update(id=number + 1000)

    assert cancel(there) == "cancelled"
    # The same number on the other server, and without a database: CONVEYOR["DATABASE"].
    assert set(Job.objects.values_list("state", flat=True)) == {"ready"}
    assert cancel(number) == "cancelled"
    assert cancel(number + 1000) == "cancelled"
    assert requeue(there, here.id, 10**9) == [there, here.id]
    assert Job.objects.using(shard).get().state == "ready"
    assert list(Job.objects.order_by("id").values_list("state", flat=True)) == ["ready", "cancelled"]
    with pytest.raises(ValueError, match="names no job of database 'default' or 'other'"):
        cancel("elsewhere:1")


def test_the_wake_up_is_heard_there(shard: str, second_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notify, "doorbell", notify.Doorbell())
    with psycopg.connect(second_server.url, autocommit=True) as listener:
        listener.execute(f"LISTEN {notify.CHANNEL}")
        sharded.enqueue(1)
        listener.execute("SELECT pg_notify(%s, '')", (notify.CHANNEL,))
        heard = [notification.payload for notification in listener.notifies(timeout=20, stop_after=2)]
    assert heard == ["orders", ""]


def test_a_scheduler_looks_after_its_own_database(shard: str) -> None:
    later = timezone.now() + dt.timedelta(hours=1)
    anything.using(run_after=later).enqueue(1)
    sharded.using(run_after=later).enqueue(2)
    for alias in ("default", shard):
        Job.objects.using(alias).update(run_at=F("created_at"))
    call_command("conveyor_scheduler", "--once", "--database", shard)
    assert Job.objects.using(shard).get().state == "ready"
    assert Job.objects.get().state == "scheduled"


def test_each_server_has_its_worker_and_scheduler(shard: str, both: dict[str, str], tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    soon = timezone.now() + dt.timedelta(seconds=1)
    on_shard = jobs.quick.using(queue_name="orders")
    here = jobs.quick.enqueue(desk.folder, "here")
    there = [on_shard.enqueue(desk.folder, "there"), on_shard.using(run_after=soon).enqueue(desk.folder, "later")]
    with running("conveyor_worker", **both) as worker:
        # Where there are several, it says which it leaves out.
        assert worker.wait_for("databases.left_out")["others"] == shard
        wait_until(lambda: _status(here) == TaskResultStatus.SUCCESSFUL, "the job on the first server has run")
        assert worker.wait_for("worker.started")["queues"] == "default"
        with (
            running("conveyor_scheduler", "--database", shard, **both),
            running("conveyor_worker", "--database", shard, "--no-scheduler", **both) as second,
        ):
            wait_until(lambda: {_status(r) for r in there} == {TaskResultStatus.SUCCESSFUL}, "those on the second have")
            assert second.wait_for("worker.started")["queues"] == "orders"
            assert [list(row.queues) for row in Worker.objects.using(shard).all()] == [["orders"]]
            assert [list(row.queues) for row in Worker.objects.all()] == [["default"]]
            assert not second.log("databases.left_out")
    assert [result.return_value for result in (here, *there)] == ["here", "there", "later"]


def _status(result: Any) -> TaskResultStatus:
    result.refresh()
    return result.status
