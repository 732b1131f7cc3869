"""`manage.py conveyor_status`."""

from __future__ import annotations

import datetime as dt
import io
import json
import re

import pytest
from django.core.management import CommandError, call_command

from conveyor_django.management.commands.conveyor_status import Report
from conveyor_django.management.status_text import Line, drawn, status_lines
from conveyor_django.management.watching import watch
from conveyor_django.models import Cron
from conveyor_django.operate.doctor.finding import problem, warning
from conveyor_django.operate.overview import overview

from ..support import factories as made
from ..support.factories import JobFactory, WorkerFactory, in_seconds

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    """A place to write to that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def told(*findings, width=None) -> list[str]:
    return list(drawn(status_lines(overview("default"), findings), {}, width=width))


def row(lines: list[str], name: str) -> list[str]:
    """Return the cells of the row that begins with a name."""
    [line] = [line for line in lines if line.split("  ")[0] == name]
    return re.split(r" {2,}", line)


class TestText:
    def test_a_queue(self):
        JobFactory.create_batch(3, queue="a", run_at=in_seconds(-300))
        JobFactory.create_batch(2, queue="a", failed=True)
        job = JobFactory(queue="a", succeeded=True)
        for version in range(7):
            made.AttemptFactory(job_id=job.pk, lease_version=version)
        made.QueueFactory(name="a", paused=True, exact_cap=4)
        WorkerFactory(queues=["a"])
        lines = told()
        assert "Last hour: 1 succeeded, 2 failed, 0 cancelled; 7 runs retried" in lines
        assert "Last day:  1 succeeded, 2 failed, 0 cancelled; 7 runs retried" in lines
        cells = row(lines, "a")
        assert cells[:2] == ["a", "3"]
        assert cells[2] in {"5 min", "6 min"}
        assert cells[3:] == ["0", "0", "0", "0", "2", "1", "2", "7", "1", "paused, cap 4"]

    def test_a_paused_task_below_the_queues(self):
        made.PausedTaskFactory(task="shop.tasks.charge")
        JobFactory(queue="a")
        lines = told()
        queues = next(number for number, line in enumerate(lines) if line.startswith("queue "))
        assert queues < lines.index("Paused task: shop.tasks.charge") < lines.index("No worker is known.")

    def test_a_worker_and_what_it_runs(self):
        worker = WorkerFactory(host="web1", pid=7, slots=5, queues=["a", "b"], started_at=in_seconds(-7300))
        jobs = JobFactory.create_batch(4, running=True, lease_owner=worker.pk, queue="a")
        lines = told()
        assert row(lines, "web1:7") == ["web1:7", "alive", "4", "5", "0 s ago", "2 h", "a, b"]
        place = next(number for number, line in enumerate(lines) if line.startswith("web1:7"))
        assert lines[place + 1].startswith(f"    job {jobs[0].pk} shop.tasks.noop (a), run 1, ")
        assert lines[place + 4] == "    and 1 more"

    @pytest.mark.parametrize(
        ("fields", "state"), [({"draining": True}, "draining"), ({"last_seen": in_seconds(-3600)}, "silent")]
    )
    def test_a_worker_that_is_not_well(self, fields, state):
        WorkerFactory(host="web1", pid=7, **fields)
        assert row(told(), "web1:7")[1] == state

    def test_cron(self):
        made.CronFactory(name="report", expression="0 3 * * *", zone="Europe/Berlin")
        Cron.objects.update(last_tick=dt.datetime(2031, 1, 2, 2, 0, tzinfo=dt.UTC))
        assert row(told(), "report") == [
            "report", "0 3 * * *", "Europe/Berlin", "2031-01-02 02:00:00 UTC", "2031-01-03 02:00:00 UTC",
        ]  # fmt: skip

    def test_nothing_at_all(self):
        lines = told()
        assert "Nothing is wrong now." in lines
        assert "No worker is known." in lines
        assert "No cron entries." in lines

    def test_what_is_wrong_first_and_few_of_a_kind(self):
        many = [warning("queue.behind", f"queue {number} is behind", "Look.") for number in range(5)]
        lines = told(problem("no.scheduler", "no scheduler", "Start one."), *many)
        assert lines[1:][:2] == ["PROBLEM: no scheduler", "    Start one."]
        assert [line for line in lines if "is behind" in line] == [
            f"WARNING: queue {number} is behind" for number in range(3)
        ]
        assert "    and 2 more of this kind" in lines

    def test_no_name_steers_the_terminal(self):
        made.PausedTaskFactory(task="a\x1b[2J\nb")
        [line] = [line for line in told() if line.startswith("Paused task")]
        assert line == "Paused task: a�[2J�b"

    def test_no_line_is_longer_than_the_terminal_is_wide(self):
        lines = list(drawn([Line("abcdef"), Line("abc")], {}, width=4))
        assert lines == ["abc…", "abc"]

    def test_what_is_wrong_is_told_in_full_on_a_narrow_terminal(self):
        text = "no scheduler is connected and nobody promotes anything"
        lines = told(problem("no.scheduler", text, "Start one of them now, please."), width=20)
        assert max(map(len, lines)) <= 20
        assert " ".join(line.strip() for line in lines[1:6]).startswith(f"PROBLEM: {text}"[:60])


class TestCommand:
    def test_as_json(self, capsys):
        JobFactory()
        made.PausedTaskFactory(task="shop.tasks.charge")
        call_command("conveyor_status", json=True)
        [line] = capsys.readouterr().out.splitlines()
        [database] = json.loads(line)["databases"]
        assert database["database"] == "default"
        assert database["paused_tasks"] == ["shop.tasks.charge"]
        assert database["queues"][0]["depth"]["ready"] == {"jobs": 1, "exact": True}
        assert {"code", "level", "problem", "remedy"} <= set(database["wrong_now"][0])

    def test_without_a_terminal_no_colours_and_whole_lines(self, capsys):
        call_command("conveyor_status", database="default")
        text = capsys.readouterr().out
        assert text.startswith("Database default, ")
        assert "\x1b" not in text

    @pytest.mark.parametrize(("value", "coloured"), [("1", False), ("", True)])
    def test_colours_unless_no_color_is_set(self, monkeypatch, value, coloured):
        monkeypatch.setenv("NO_COLOR", value)
        out = Terminal()
        call_command("conveyor_status", stdout=out, force_color=True)
        assert ("\x1b[" in out.getvalue()) is coloured

    def test_a_terminal_s_width(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "40")
        made.PausedTaskFactory(task="x" * 100)
        out = Terminal()
        call_command("conveyor_status", stdout=out, no_color=True)
        assert max(len(line) for line in out.getvalue().splitlines()) == 40

    def test_a_database_that_is_none(self):
        with pytest.raises(CommandError, match="'nowhere' is not in DATABASES"):
            call_command("conveyor_status", database="nowhere")

    @pytest.mark.parametrize("seconds", ["0", "nan", "x", "-1", "1e9"])
    def test_seconds_that_are_none(self, seconds):
        with pytest.raises(CommandError, match=re.escape(f"not {seconds!r}")):
            call_command("conveyor_status", f"--watch={seconds}")

    def test_a_database_that_cannot_be_read_does_not_hide_the_others(self, elsewhere):
        reports = [Report("default"), Report(elsewhere)]
        assert [report.error is None for report in reports] == [True, False]
        [line] = reports[1].lines()
        assert line.text.startswith("Database 'elsewhere' cannot be read: ")
        assert reports[1].as_json()["error"] == line.text


class TestWatch:
    def test_it_redraws_in_place_and_leaves_the_cursor(self, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("LINES", "4")
        out = Terminal()
        watch(_looks(["one"], ["1", "2", "3", "4"]), out, seconds=0.0)
        assert out.getvalue() == (
            "\x1b[2J"
            "\x1b[H\x1b[?25lone\x1b[K\n\x1b[J"
            "\x1b[H\x1b[?25l1\x1b[K\n2\x1b[K\n… 2 more lines; a taller window shows them\x1b[K\n\x1b[J"
            "\x1b[?25h\n"
        )

    def test_elsewhere_one_look_comes_after_the_other(self):
        out = io.StringIO()
        watch(_looks(["one"], ["two"]), out, seconds=0.0)
        assert out.getvalue() == "one\ntwo\n"


def _looks(*looks: list[str]):
    """Return what is seen at each look; then somebody presses Ctrl-C."""
    coming = iter(looks)

    def look() -> list[str]:
        try:
            return next(coming)
        except StopIteration:
            raise KeyboardInterrupt from None

    return look
