"""Two schedulers at one cron entry: who comes second does nothing, whenever the first has come (rule 14)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from conveyor_django.db import Connection
from conveyor_django.managers.cron import CronManager, CronRow, Ticked
from conveyor_django.sql import statement

from ..support.barriers import at_once
from ..support.factories import new_job
from ..support.races import GATE, Altered, Race, gated

AT = dt.datetime(2031, 5, 6, 10, tzinfo=dt.UTC)
ROW = CronRow(name="a", expression="* * * * *", zone="UTC", task="t")
# The queue says which of the two has made a job.
ONE, OTHER = "one", "other"


class AlteredCrons(Altered, CronManager):
    """The manager of entries with some statements replaced by texts of their own."""


def minute(number: int) -> dt.datetime:
    return AT + dt.timedelta(minutes=number)


class Ground:
    """An entry that has ticked at AT, and two schedulers that look at it."""

    def __init__(self, race: Race, text: str) -> None:
        self.race = race
        self.text = text
        self.crons = AlteredCrons({"tick_cron": text})
        self.crons.declare_crons([ROW], now=AT, on=race.main)
        race.main.execute("UPDATE conveyor_cron SET last_tick = %s", (AT,))

    def tick(
        self, queue: str, number: int, *, seen: int | None = None, on: Connection, crons: CronManager | None = None
    ) -> Ticked | None:
        """Tick at that minute, having seen the one before, or another."""
        return (crons or self.crons).tick_cron(
            ROW.name, new_job(queue=queue), seen=minute(number - 1 if seen is None else seen), newest=minute(number),
            ticks=[(f"conveyor:cron:a:{number}", minute(number))], on=on,
        )  # fmt: skip

    def late(self, between: Callable[[], Any], **given: Any) -> Ticked | None:
        """Tick for ONE, with something happening between the statement's snapshot and its first lock."""
        side, keeper = self.race.connect(), self.race.connect()
        keeper.execute("SELECT pg_advisory_lock(%s)", (GATE,))
        held_up = AlteredCrons({"tick_cron": gated(self.text)})
        running = self.race.sides.start(side, self.tick, ONE, 1, crons=held_up, **given)
        try:
            running.wait_until_blocked()
            between()
        finally:
            keeper.execute("SELECT pg_advisory_unlock(%s)", (GATE,))
        return running.result()

    def jobs(self) -> list[tuple[str, str]]:
        """Return (queue, minute) of each job."""
        return self.race.main.execute(
            "SELECT queue, split_part(idempotency_key, ':', 4) FROM conveyor_job ORDER BY id"
        ).fetchall()

    def last_tick(self) -> dt.datetime:
        row = self.race.main.execute("SELECT last_tick FROM conveyor_cron").fetchone()
        assert row is not None
        return row[0]


# -- what must hold ----------------------------------------------------------------------------------------------


def second_after_the_first_has_committed(ground: Ground) -> None:
    main = ground.race.main
    assert ground.tick(OTHER, 1, on=main) is not None
    assert ground.tick(ONE, 1, on=main) is None
    assert ground.jobs() == [(OTHER, "1")]


def second_while_the_first_is_open(ground: Ground) -> None:
    """It neither waits nor ticks."""
    side = ground.race.connect()
    with ground.race.transaction() as first:
        assert ground.tick(OTHER, 1, on=first) is not None
        running = ground.race.sides.start(side, ground.tick, ONE, 1)
        blocked = running.settle()
    assert running.result() is None
    assert not blocked
    assert ground.jobs() == [(OTHER, "1")]


def first_commits_between_the_second_s_snapshot_and_lock(ground: Ground) -> None:
    assert ground.late(lambda: ground.tick(OTHER, 1, on=ground.race.main)) is None
    assert ground.jobs() == [(OTHER, "1")]


def others_are_ahead_between_its_snapshot_and_lock(ground: Ground) -> None:
    """Also not where the tick's job is gone already, so that its key keeps nobody from making another."""

    def go_ahead() -> None:
        for number in (1, 2):
            ground.tick(OTHER, number, on=ground.race.main)
        ground.race.main.execute("DELETE FROM conveyor_job")

    assert ground.late(go_ahead) is None
    assert (ground.jobs(), ground.last_tick()) == ([], minute(2))


def switched_off_between_its_snapshot_and_lock(ground: Ground) -> None:
    assert ground.late(lambda: ground.race.main.execute("UPDATE conveyor_cron SET enabled = false")) is None
    assert (ground.jobs(), ground.last_tick()) == ([], AT)


def begun_anew_between_its_snapshot_and_lock(ground: Ground) -> None:
    """The admin gave it another expression, so the tick that was due is not any more."""
    assert ground.late(lambda: ground.race.main.execute("UPDATE conveyor_cron SET last_tick = NULL")) is None
    assert ground.jobs() == []


def first_rolls_back(ground: Ground) -> None:
    """A scheduler that is killed in the midst leaves the tick to the next."""
    with ground.race.lost_transaction() as first:
        assert ground.tick(OTHER, 1, on=first) is not None
    assert ground.tick(ONE, 1, on=ground.race.main) is not None
    assert (ground.jobs(), ground.last_tick()) == ([(ONE, "1")], minute(1))


def a_scheduler_that_believes_in_an_older_tick(ground: Ground) -> None:
    """The last tick does not go back, whatever a caller says that it saw."""
    main = ground.race.main
    ground.tick(OTHER, 1, on=main)
    assert ground.tick(ONE, 0, seen=1, on=main) is None
    assert ground.last_tick() == minute(1)


SCENARIOS = [
    second_after_the_first_has_committed,
    second_while_the_first_is_open,
    first_commits_between_the_second_s_snapshot_and_lock,
    others_are_ahead_between_its_snapshot_and_lock,
    switched_off_between_its_snapshot_and_lock,
    begun_anew_between_its_snapshot_and_lock,
    first_rolls_back,
    a_scheduler_that_believes_in_an_older_tick,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds(race: Race, scenario: Callable[[Ground], None]) -> None:
    scenario(Ground(race, statement("tick_cron")))


# -- and what it takes ---------------------------------------------------------------------------------------------

SEEN = "      AND cron.last_tick IS NOT DISTINCT FROM %(seen)s::timestamptz\n"
GROWS = "      AND (cron.last_tick IS NULL OR cron.last_tick < %(newest)s::timestamptz)\n"
LOCK = "    FOR NO KEY UPDATE SKIP LOCKED\n"

MUTANTS = [
    ("no lock", (LOCK, ""), first_commits_between_the_second_s_snapshot_and_lock),
    ("no lock", (LOCK, ""), switched_off_between_its_snapshot_and_lock),
    ("waits for locks", (" SKIP LOCKED", ""), second_while_the_first_is_open),
    ("whatever it saw", (SEEN, ""), begun_anew_between_its_snapshot_and_lock),
    ("goes back", (GROWS, ""), a_scheduler_that_believes_in_an_older_tick),
    ("nothing of it", (SEEN + GROWS, ""), others_are_ahead_between_its_snapshot_and_lock),
    ("also when off", (" AND cron.enabled", ""), switched_off_between_its_snapshot_and_lock),
]


@pytest.mark.parametrize(("what", "change", "scenario"), MUTANTS)
def test_without_a_guard_it_does_not(
    race: Race, what: str, change: tuple[str, str], scenario: Callable[[Ground], None]
) -> None:
    text = statement("tick_cron")
    old, new = change
    assert text.count(old) == 1
    with pytest.raises(AssertionError):
        scenario(Ground(race, text.replace(old, new)))


def test_many_schedulers_share_the_ticks(race: Race) -> None:
    """Four go through 30 ticks as fast as they can: each tick is one scheduler's."""
    ground = Ground(race, statement("tick_cron"))
    connections = [race.connect() for _ in range(4)]

    def go(queue: str, on: Connection) -> int:
        mine = 0
        while (last := ground.crons.list_crons(on=on)[0].last_tick) < minute(30):
            number = int((last - AT) / dt.timedelta(minutes=1)) + 1
            mine += ground.tick(queue, number, on=on) is not None
        return mine

    shares = at_once(*(lambda n=n: go(str(n), connections[n]) for n in range(4)))
    assert sum(shares) == 30
    assert [number for _, number in ground.jobs()] == [str(number) for number in range(1, 31)]


def test_two_processes_that_declare_the_same_at_once(race: Race) -> None:
    crons = AlteredCrons({})
    rows = [CronRow(name=f"e{n}", expression="* * * * *", zone="UTC", task="t") for n in range(20)]
    sides = [race.connect() for _ in range(2)]
    answers = at_once(
        lambda: crons.declare_crons(rows, on=sides[0]), lambda: crons.declare_crons(rows[::-1], on=sides[1])
    )
    for row in rows:
        assert {answer[row.name] for answer in answers} <= {"inserted", "same", "busy"}
    assert set(crons.declare_crons(rows, on=race.main).values()) == {"same"}
    assert len(crons.list_crons(on=race.main)) == 20
