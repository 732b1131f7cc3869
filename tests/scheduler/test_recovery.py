"""One pass over a dead worker, as a supervisor and the scheduler make it."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest
from psycopg import sql

from conveyor_django.conf import ConveyorSettings
from conveyor_django.managers.recovery import queues_to_wake, take_over
from conveyor_django.managers.workers import application_name
from conveyor_django.models import Attempt, Worker

from ..support.connections import scalar
from ..support.factories import JobFactory, WorkerFactory
from ..support.waits import backend_pid, wait_until_gone

pytestmark = pytest.mark.django_db(transaction=True)


def take(worker, on, *, started=None, **settings):
    return take_over(
        alias="default", incarnation=worker.incarnation, settings=ConveyorSettings(**settings),
        reason="killed", started=started, on=on,
    )  # fmt: skip


@pytest.fixture
def worker():
    return WorkerFactory()


@pytest.fixture
def limited_role(plain) -> Iterator[str]:
    """A role that may use the tables, but not end other roles' sessions."""
    role = f"conveyor_test_{uuid.uuid4().hex[:12]}"
    name = sql.Identifier(role)
    plain.execute(sql.SQL("CREATE ROLE {}").format(name))
    plain.execute(sql.SQL("GRANT ALL ON ALL TABLES IN SCHEMA public TO {}").format(name))
    plain.execute(sql.SQL("GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {}").format(name))
    yield role
    plain.execute(sql.SQL("DROP OWNED BY {}").format(name))
    plain.execute(sql.SQL("DROP ROLE {}").format(name))


def test_what_had_not_started_is_given_back_free(worker, connection, caplog):
    caplog.set_level(logging.INFO, "conveyor")
    lost, free = JobFactory.create_batch(2, running=True, lease_owner=worker.incarnation)
    takeover = take(worker, connection, started=[(lost.pk, lost.lease_version)])
    assert {job.id: job.lost for job in takeover.rescued} == {lost.pk: True, free.pk: False}
    assert takeover.done
    for job, lost_count, release_count in [(lost, 1, 0), (free, 0, 1)]:
        job.refresh_from_db()
        assert (job.state, job.attempt, job.lost_count, job.release_count) == (
            "ready", 0, lost_count, release_count,
        )  # fmt: skip
    assert Attempt.objects.get(job=lost).message == "killed"
    assert sorted(r.conveyor["event"] for r in caplog.records) == [
        "job.rescued",
        "job.rescued",
        "worker.dead",
    ]
    [dead] = [r.conveyor for r in caplog.records if r.conveyor["event"] == "worker.dead"]
    assert (dead["host"], dead["pid"]) == (worker.host, worker.pid)


def test_a_start_under_an_older_lease_is_no_start(worker, connection):
    job = JobFactory(running=True, lease_owner=worker.incarnation, lease_version=7)
    takeover = take(worker, connection, started=[(job.pk, 6)])
    assert [job.lost for job in takeover.rescued] == [False]


def test_where_nobody_knows_every_run_is_lost(worker, connection):
    JobFactory(running=True, lease_owner=worker.incarnation)
    assert [job.lost for job in take(worker, connection).rescued] == [True]


@pytest.mark.parametrize(
    ("counts", "started"),
    [({"lost_count": 2}, None), ({"release_count": 5}, [])],
    ids=["lost too often", "given back too often"],
)
def test_past_its_bound_a_job_fails(worker, connection, caplog, counts, started):
    job = JobFactory(running=True, lease_owner=worker.incarnation, queue="a", **counts)
    takeover = take(worker, connection, started=started, max_lost=3, max_releases=5)
    assert [job.state for job in takeover.rescued] == ["failed"]
    assert queues_to_wake(takeover.rescued) == set()
    lines = [(r.conveyor["event"], r.levelno, r.conveyor.get("job")) for r in caplog.records]
    assert ("job.failed", logging.ERROR, job.pk) in lines


def test_the_queues_to_wake_are_those_with_a_ready_job(worker, connection):
    JobFactory(running=True, lease_owner=worker.incarnation, queue="a")
    JobFactory(running=True, lease_owner=worker.incarnation, queue="b", lost_count=99)
    assert queues_to_wake(take(worker, connection).rescued) == {"a"}


def test_it_is_forgotten_only_when_it_had_no_session(worker, connect, connection, watcher):
    session = connect(application_name(worker.incarnation, "executor"))
    first = take(worker, connection)
    assert (first.sessions, first.done, Worker.objects.count()) == (1, False, 1)
    wait_until_gone(watcher, backend_pid(session))
    second = take(worker, connection)
    assert (second.sessions, second.done, Worker.objects.count()) == (0, True, 0)


def test_a_job_whose_row_somebody_holds_is_taken_in_a_later_pass(worker, connection, plain):
    job = JobFactory(running=True, lease_owner=worker.incarnation)
    with plain.transaction():
        plain.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (job.pk,))
        first = take(worker, connection)
    assert (first.rescued, first.held, first.done, Worker.objects.count()) == ([], 1, False, 1)
    second = take(worker, connection)
    assert ([job.id for job in second.rescued], second.done, Worker.objects.count()) == ([job.pk], True, 0)


def test_the_sessions_of_others_stay(worker, connect, connection):
    other = connect(application_name(uuid.uuid4(), "executor"))
    assert take(worker, connection).sessions == 0
    assert scalar(other, "SELECT 1") == 1


def test_a_worker_that_is_gone_already_is_no_news(worker, connection, caplog):
    take(worker, connection)
    caplog.clear()
    assert take(worker, connection).done
    assert caplog.records == []


def test_without_the_right_to_end_sessions_the_jobs_are_still_rescued(
    worker, connect, connection, limited_role, caplog
):
    session = connect(application_name(worker.incarnation, "executor"))
    job = JobFactory(running=True, lease_owner=worker.incarnation)
    connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(limited_role)))
    takeover = take(worker, connection)
    connection.execute("RESET ROLE")
    assert [job.id for job in takeover.rescued] == [job.pk]
    assert (takeover.done, Worker.objects.count()) == (True, 0)
    assert scalar(session, "SELECT 1") == 1
    kept = next(r for r in caplog.records if r.conveyor["event"] == "worker.sessions_kept")
    assert "permission denied" in kept.conveyor["error"]
