"""A job's life in the order of time, and to scale: from rows that are stored nowhere."""

from __future__ import annotations

import datetime as dt
import uuid

import pytest

from conveyor_django.admin.life import life_of
from conveyor_django.admin.rows import Effect, Ending
from conveyor_django.admin.scale import LEAST_WIDTH
from conveyor_django.admin.timeline import RUNS_DRAWN, WIDTH, draw_life, draw_runs
from conveyor_django.models import Job

BEGIN = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
OWNER = uuid.UUID(int=7)


def at(seconds: float) -> dt.datetime:
    return BEGIN + dt.timedelta(seconds=seconds)


def job(state: str = "ready", **fields) -> Job:
    return Job(**{"pk": 1, "state": state, "created_at": BEGIN, "run_at": BEGIN, "max_attempts": 5} | fields)


def ending(version: int, start: float, end: float, verb: str = "retry") -> Ending:
    return Ending(
        lease_version=version, number=version, verb=verb, owner=OWNER, error_class="app.Boom", message="it broke",
        traceback="", started_at=at(start), finished_at=at(end),
    )  # fmt: skip


def effect(step: str, version: int, seconds: float) -> Effect:
    return Effect(step=step, lease_version=version, owner=OWNER, committed_at=at(seconds), result=None)


def succeeded(start: float, end: float, **fields) -> Job:
    claimed = {"attempt": 1, "lease_version": 1} | fields
    return job("succeeded", started_at=at(start), claimed_at=at(start), finished_at=at(end), **claimed)


def waits(life) -> list[tuple[str, float, float]]:
    return [(wait.why, life.since(wait.start), life.since(wait.end)) for wait in life.waits]


class TestLife:
    def test_of_a_job_that_waits(self):
        life = life_of(job(), [], [], now=at(60))
        assert (waits(life), life.runs, life.horizon) == ([("ready", 0, 60)], (), at(60))

    def test_of_one_that_is_scheduled_it_goes_on_until_it_is_due(self):
        life = life_of(job("scheduled", run_at=at(3600)), [], [], now=at(60))
        assert (waits(life), life.horizon) == ([("scheduled", 0, 60)], at(3600))

    def test_of_one_that_succeeded_at_its_second_run(self):
        stored = succeeded(30, 31, attempt=2, lease_version=2)
        life = life_of(stored, [ending(1, 10, 12)], [effect("pay", 1, 11), effect("", 2, 31)], now=at(99))
        assert waits(life) == [("waits", 0, 10), ("waits", 12, 30)]
        assert [(run.number, run.outcome, run.seconds) for run in life.runs] == [(1, "retry", 2), (2, "succeed", 1)]
        assert [[commit.step for commit in run.commits] for run in life.runs] == [["pay"], [""]]
        assert life.horizon == at(31)

    def test_of_one_that_runs_it_ends_now(self):
        stored = job("running", claimed_at=at(5), lease_owner=OWNER, lease_version=3, attempt=1, lost_count=1)
        [run] = life_of(stored, [], [effect("pay", 3, 6)], now=at(8)).runs
        assert (run.number, run.lease_version, run.outcome, run.seconds, run.owner) == (2, 3, "running", 3, OWNER)
        assert [commit.step for commit in run.commits] == ["pay"]

    def test_of_one_that_waits_for_its_retry_the_last_run_has_ended(self):
        stored = job("scheduled", run_at=at(40), claimed_at=at(10), attempt=1, lease_version=1)
        life = life_of(stored, [ending(1, 10, 12)], [], now=at(20))
        assert len(life.runs) == 1
        assert waits(life)[-1] == ("scheduled", 12, 20)

    def test_the_runs_are_in_order_whatever_the_order_of_the_rows(self):
        life = life_of(job("failed", finished_at=at(9)), [ending(2, 5, 9), ending(1, 0, 3)], [], now=at(99))
        assert [run.lease_version for run in life.runs] == [1, 2]
        assert waits(life) == [("waits", 3, 5)]


@pytest.mark.parametrize("seconds", [0.003, 3 * 86400])
class TestOneRun:
    """Of three milliseconds, or of three days: drawn alike."""

    def drawn(self, seconds):
        life = life_of(succeeded(seconds, 2 * seconds), [], [effect("", 1, 2 * seconds)], now=at(9e6))
        return draw_life(life), draw_runs(life, {OWNER: "host, pid 1"})

    def test_the_whole_life(self, seconds):
        drawing, _ = self.drawn(seconds)
        [wait], [run] = drawing.waits, drawing.runs
        # Half of the line is the wait, half the run.
        assert wait.width == run.width == (WIDTH - 32) / 2
        assert run.x == wait.x + wait.width
        assert (wait.text, run.text, run.kind) == ("waits", "1", "succeed")
        assert [mark.text.split(" after ")[0] for mark in drawing.marks] == ["enqueued", "succeeded"]
        assert 3 <= len(drawing.ticks) <= 9

    def test_its_runs(self, seconds):
        _, drawing = self.drawn(seconds)
        [row] = drawing.rows
        assert (row.name, row.detail) == ("run 1 · lease version 1", "host, pid 1")
        assert row.end in {"succeed after 3 ms", "succeed after 3 d"}
        [dot] = row.dots
        assert dot.is_effect
        assert dot.x == row.bar.x + row.bar.width


class TestDrawing:
    def test_a_run_of_a_moment_after_days_of_waiting_is_seen_and_its_steps_are_told_apart(self):
        days = 3 * 86400
        steps = [effect("a", 1, days + 0.001), effect("b", 1, days + 0.002), effect("", 1, days + 0.003)]
        life = life_of(succeeded(days, days + 0.003), [], steps, now=at(days + 9))
        assert draw_life(life).runs[0].width == LEAST_WIDTH
        [row] = draw_runs(life, {}).rows
        left, width = row.bar.x, row.bar.width
        assert [round((dot.x - left) / width, 1) for dot in row.dots] == [0.3, 0.7, 1.0]
        assert row.detail == str(OWNER)[:28] + "…"

    def test_labels_that_would_meet_stand_in_rows_of_their_own(self):
        stored = job("scheduled", run_at=at(86400), cancel_requested_at=at(61))
        marks = draw_life(life_of(stored, [], [], now=at(60))).marks
        assert [mark.text for mark in marks] == ["enqueued", "now, 1 min", "due at 1 d", "cancel requested"]
        enqueued, now, due, cancel = (mark.y for mark in marks)
        assert len({enqueued, now, cancel}) == 3
        assert due == enqueued
        assert (marks[0].anchor, marks[2].anchor) == ("start", "end")

    def test_a_time_that_came_too_late_is_not_drawn(self):
        stored = job("cancelled", run_at=at(86400), finished_at=at(1))
        drawing = draw_life(life_of(stored, [], [], now=at(2)))
        assert [mark.text for mark in drawing.marks] == ["enqueued", "cancelled after 1 s"]
        assert drawing.ticks[-1][1] == "1 s"

    def test_of_many_runs_the_newest_are_drawn(self):
        endings = [ending(version, version, version + 0.5) for version in range(1, RUNS_DRAWN + 4)]
        drawing = draw_runs(life_of(job("failed", finished_at=at(99)), endings, [], now=at(99)), {})
        assert len(drawing.rows) == RUNS_DRAWN
        assert drawing.left_out == 3
        assert drawing.rows[0].name.startswith(f"run {RUNS_DRAWN + 3} ")
        assert "app.Boom: it broke" in drawing.rows[0].bar.title

    def test_without_runs_none_are_drawn(self):
        assert draw_runs(life_of(job(), [], [], now=at(1)), {}) is None

    def test_a_job_of_this_instant_is_drawn_too(self):
        drawing = draw_life(life_of(job(), [], [], now=BEGIN))
        assert (drawing.waits, drawing.runs, drawing.ticks) == ([], [], [(16, "0")])
