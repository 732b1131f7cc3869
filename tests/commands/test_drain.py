"""`manage.py conveyor_drain`: whom it asks, and how long it waits. Real workers are in tests/process."""

from __future__ import annotations

import pytest
from django.core.management.base import CommandError

from conveyor_django.management.commands import conveyor_drain
from conveyor_django.models import Worker
from conveyor_django.operate.draining import ask_to_drain, workers_at

from ..support.factories import JobFactory, WorkerFactory

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_drain"


@pytest.fixture
def fleet() -> dict[str, Worker]:
    """Two workers on one host, the first with two processes; and one elsewhere with the same pids."""
    places = {"a1": ("web1", 11, 10), "a2": ("web1", 12, 10), "b1": ("web1", 21, 20), "c1": ("web2", 11, 10)}
    return {
        name: WorkerFactory(host=host, pid=pid, supervisor_pid=supervisor)
        for name, (host, pid, supervisor) in places.items()
    }


def asked(fleet: dict[str, Worker]) -> list[str]:
    requested = set(Worker.objects.exclude(drain_requested_at=None).values_list("pk", flat=True))
    return [name for name, worker in fleet.items() if worker.pk in requested]


def test_every_worker_of_the_host(run, fleet):
    JobFactory(running=True, lease_owner=fleet["a1"].pk)
    lines = run(COMMAND, "web1")
    assert asked(fleet) == ["a1", "a2", "b1"]
    assert lines[0] == (f"default: worker {fleet['a1'].pk} (pid 11 of supervisor 10, 1 job running) is asked to drain.")
    assert len(lines) == 3


@pytest.mark.parametrize("pid", [10, 11, 12])
def test_one_of_them_by_any_of_its_pids_with_all_of_its_processes(run, fleet, pid):
    run(COMMAND, "web1", "--pid", pid)
    assert asked(fleet) == ["a1", "a2"]


def test_one_of_them_by_the_uuid_of_a_process(run, fleet):
    run(COMMAND, "web1", "--owner", fleet["b1"].pk)
    assert asked(fleet) == ["b1"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["web3"], "is of host 'web3'. conveyor_status"),
        (["web1", "--pid", "99"], "is of host 'web1' with pid 99. conveyor_status"),
        (["web1", "--owner", "00000000-0000-0000-0000-000000000001"], "with 00000000-0000-0000-0000-000000000001."),
        (["web1", "--owner", "x"], "must be a worker's uuid, as conveyor_status shows it, not 'x'"),
        (["web1", "--pid", "11", "--owner", "00000000-0000-0000-0000-000000000001"], "not allowed with"),
        (["web1", "--wait", "-1"], "must be a number of seconds from 0 to 86,400, not '-1'"),
        (["web1", "--database", "nowhere"], "'nowhere' is not in DATABASES"),
    ],
)
def test_who_is_not_there(run, fleet, arguments, says):
    with pytest.raises(CommandError) as caught:
        run(COMMAND, *arguments)
    assert says in str(caught.value)
    assert asked(fleet) == []


def test_those_that_are_left_when_the_wait_is_over(run_json, fleet):
    JobFactory.create_batch(2, running=True, lease_owner=fleet["b1"].pk)
    with pytest.raises(
        CommandError, match=r"Still there after 0 s: worker .* \(pid 21 of supervisor 20, 2 jobs running\)"
    ):
        run_json(COMMAND, "web1", "--pid", 20, "--wait", "0")
    assert f'"left": ["{fleet["b1"].pk}"]' in run_json.printed


def test_the_wait_ends_when_they_are_gone(run, fleet, monkeypatch):
    def go(_seconds: float) -> None:
        Worker.objects.filter(host="web1").first().delete()

    monkeypatch.setattr(conveyor_drain.time, "sleep", go)
    assert run(COMMAND, "web1", "--wait", "600")[-1] == "All of them are gone."
    assert asked(fleet) == []


def test_one_that_takes_the_place_of_another_meanwhile_is_asked_too(run, fleet, monkeypatch):
    """A process had crashed before it heard; its supervisor has started another."""

    def go(_seconds: float) -> None:
        if Worker.objects.filter(pid=21).delete()[0]:
            WorkerFactory(host="web1", pid=22, supervisor_pid=20)
        else:
            assert Worker.objects.get(pid=22).drain_requested_at is not None
            Worker.objects.filter(pid=22).delete()

    monkeypatch.setattr(conveyor_drain.time, "sleep", go)
    assert run(COMMAND, "web1", "--pid", 20, "--wait", "600")[-1] == "All of them are gone."


def test_json(run_json, fleet):
    told = run_json(COMMAND, "web2")
    worker = fleet["c1"]
    assert told == {
        "asked": [{"database": "default", "worker": str(worker.pk), "host": "web2", "pid": 11}], "left": None,
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_on_every_database_or_the_one_that_is_named(run, fleet, second):
    assert [line.split(":")[0] for line in run(COMMAND, "web2")] == ["default", "second"]
    assert [line.split(":")[0] for line in run(COMMAND, "web2", "--database", second)] == ["second"]


def test_asking_returns_the_oldest_first(fleet):
    assert [worker.pid for worker in ask_to_drain(workers_at("web1", "default"))] == [11, 12, 21]
