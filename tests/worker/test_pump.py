"""The pump in this process, with handlers that the test finishes itself."""

from __future__ import annotations

import math
import time
import uuid
from collections.abc import Iterator

import pytest

from conveyor_django.models import Attempt, Job, Ledger
from conveyor_django.worker.board import board_places
from conveyor_django.worker.outbox import Outbox
from conveyor_django.worker.reconnect import FailoverDetected
from conveyor_django.worker.runs import Finished
from tests.support.factories import ready_jobs
from tests.support.pumps import SLOTS, Bench
from tests.support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


END_ITS_SESSION = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND application_name = 'conveyor test pump'"
)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(uuid.uuid4())
    yield made
    made.stop()
    assert made.errors == []


def test_claims_no_more_than_it_has_slots_for(bench):
    ready_jobs(7)
    bench.pump.start()
    bench.wait_held(SLOTS)
    assert Job.objects.filter(state="running").count() == SLOTS
    bench.succeed(bench.hands.held[0])
    bench.wait_held(SLOTS + 1)
    assert Job.objects.filter(state="running").count() == SLOTS
    bench.pump.quit_claiming()
    for held in list(bench.hands.held):
        bench.succeed(held)
    wait_until(lambda: Ledger.objects.count() >= SLOTS + 1, "all outcomes are written")


def test_a_claim_whose_reply_was_lost_is_given_back_free_at_the_next_connection(bench, connect):
    """Rule 4: the owner holds it in the database, but does not know it."""
    ready_jobs(1)
    [lost] = Job.objects.claim_jobs(owner=bench.owner, queues={"default": 30.0}, limit=1, on=connect())
    bench.pump.start()
    [held] = bench.wait_held(1)
    assert held.claimed.id == lost.id
    assert held.claimed.version == lost.version + 1
    assert (held.claimed.attempt, held.claimed.lost_count, held.claimed.release_count) == (1, 0, 1)
    assert [a.verb for a in Attempt.objects.all()] == ["release"]
    bench.succeed(held)


def test_what_it_knows_survives_a_cut_connection_and_its_outcome_is_written(bench, watcher):
    ready_jobs(1)
    bench.pump.start()
    [held] = bench.wait_held(1)
    cut = watcher.execute(END_ITS_SESSION).fetchall()
    assert cut == [(True,)]
    bench.succeed(held)
    wait_until(lambda: Ledger.objects.count() == 1, "the outcome is written")
    assert Job.objects.get().lease_version == 1


def test_an_outcome_that_is_busy_is_written_once_the_lock_is_gone(bench, connect):
    ready_jobs(2)
    bench.pump.start()
    first, second = bench.wait_held(2)
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (first.claimed.id,))
        bench.succeed(first)
        bench.succeed(second)
        wait_until(lambda: Ledger.objects.count() == 1, "the neighbour's outcome is written")
        wait_until(lambda: len(bench.inflight) == 1, "it is not held any more")
    wait_until(lambda: Ledger.objects.count() == 2, "the locked one's outcome is written")
    wait_until(lambda: len(bench.inflight) == 0, "nothing is held")


class Stalled(Outbox):
    """As after a stall: the wait of every busy outcome is over in every turn."""

    def due(self, now: float) -> list[Finished]:
        return super().due(math.inf)


def test_however_many_outcomes_are_busy_the_board_has_places_for_all_that_is_held(bench, connect):
    bench.pump._outbox = Stalled()
    places = board_places(SLOTS)
    ready_jobs(2 * places)
    bench.pump.start()
    other = connect()
    with other.transaction():
        for i in range(places):
            held = bench.wait_held(i + 1)[i]
            other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (held.claimed.id,))
            bench.succeed(held)
            bench.pump.ring("default")
        turns = bench.board.counters()["pulse"]
        wait_until(lambda: bench.board.counters()["pulse"] > turns + 4, "all are found busy, more than once")
        assert len(bench.inflight) == len(bench.hands.held) == places
        assert Job.objects.filter(state="ready").count() == places
        bench.pump.quit_claiming()
    wait_until(lambda: Ledger.objects.count() == places, "all outcomes are written")


def test_a_stale_outcome_is_refused_and_counted(bench, connect):
    ready_jobs(1)
    bench.pump.start()
    [held] = bench.wait_held(1)
    Job.objects.rescue_owner(owner=bench.owner, max_lost=3, max_releases=100, reason="a test says so", on=connect())
    bench.pump.quit_claiming()
    bench.succeed(held)
    wait_until(lambda: bench.board.counters()["refused"] == 1, "the outcome is refused")
    assert not Ledger.objects.exists()
    assert bench.hands.announced == []


def test_a_job_that_was_lost_before_runs_without_neighbours(bench):
    suspect, *others = ready_jobs(3)
    Job.objects.filter(pk=suspect.pk).update(lost_count=1)
    bench.pump.start()
    submitted = bench.wait_held(2)
    assert {held.claimed.id for held in submitted} == {job.pk for job in others}
    ready_jobs(1)
    bench.pump.ring("default")
    bench.succeed(submitted[0])
    wait_until(lambda: Ledger.objects.count() == 1, "one neighbour is done")
    # Still one neighbour: the suspect waits, and nothing more is claimed beside it.
    assert len(bench.hands.held) == 2
    bench.succeed(submitted[1])
    alone = bench.wait_held(3)[2]
    assert alone.claimed.id == suspect.pk
    assert Job.objects.filter(state="ready").count() == 1
    bench.succeed(alone)
    bench.succeed(bench.wait_held(4)[3])
    wait_until(lambda: Ledger.objects.count() == 4, "all are done")


def test_a_run_whose_lease_has_lapsed_is_no_neighbour(bench):
    """It may be the suspect's own zombie, which never ends."""
    ready_jobs(1)
    bench.pump.start()
    [zombie] = bench.wait_held(1)
    bench.inflight.lapse(zombie)
    [suspect] = ready_jobs(1)
    Job.objects.filter(pk=suspect.pk).update(lost_count=1)
    bench.pump.ring("default")
    alone = bench.wait_held(2)[1]
    assert alone.claimed.id == suspect.pk
    bench.succeed(alone)
    bench.succeed(zombie)


def test_what_is_given_back_has_no_second_outcome(bench):
    ready_jobs(1)
    bench.pump.start()
    [held] = bench.wait_held(1)
    bench.pump.quit_claiming()
    bench.pump.give_back("a test says so")
    wait_until(lambda: Job.objects.get().state == "ready", "it is given back")
    bench.succeed(held)
    bench.stop()
    assert bench.board.counters()["refused"] == 0
    assert not Ledger.objects.exists()


def test_another_timeline_ends_the_incarnation(bench, watcher):
    """After a failover commits may be lost: nothing that this process believes may be written."""
    ready_jobs(1)
    bench.pump.start()
    [held] = bench.wait_held(1)
    bench.pump._timeline._known = "000000FF"
    watcher.execute(END_ITS_SESSION)
    bench.succeed(held)
    wait_until(lambda: bench.errors != [], "the loop ends")
    assert isinstance(bench.errors.pop(), FailoverDetected)
    assert not Ledger.objects.exists()


def test_the_notification_is_enough_without_a_poll(bench):
    bench.pump.start()
    wait_until(lambda: bench.board.counters()["pulse"] > 2, "it has looked and found nothing")
    ready_jobs(1)
    bench.pump.ring("default")
    # The poll is a minute away, longer than this waits.
    [held] = bench.wait_held(1)
    bench.succeed(held)


def test_after_a_lost_connection_nothing_is_claimed_before_the_next_beat(bench, watcher):
    bench.pump.start()
    wait_until(lambda: bench.board.counters()["pulse"] > 2, "it has looked and found nothing")
    assert bench.returns == []
    watcher.execute(END_ITS_SESSION)
    ready_jobs(1)
    bench.pump.ring("default")
    wait_until(lambda: bool(bench.returns), "it is back")
    turns = bench.board.counters()["pulse"]
    bench.pump.ring("default")
    wait_until(lambda: bench.board.counters()["pulse"] > turns + 2, "it has had its turns")
    assert bench.hands.held == []
    bench.beaten_at = time.monotonic()
    bench.pump.wake()
    bench.wait_held(1)


def test_a_process_that_may_have_been_declared_dead_claims_nothing(bench):
    bench.trusted = False
    bench.pump.start()
    ready_jobs(1)
    turns = bench.board.counters()["pulse"]
    bench.pump.ring("default")
    wait_until(lambda: bench.board.counters()["pulse"] > turns + 1, "it has had its turns")
    assert bench.hands.held == []
    bench.trusted = True
    bench.pump.ring("default")
    bench.wait_held(1)
