"""What was accepted is lost, waits, or ended for no reason."""

from __future__ import annotations

from ..scene import MIDNIGHT, MINUTE, Scene
from .marking import wrong


@wrong("lost")
def an_accepted_job_has_no_row(scene: Scene) -> None:
    scene.tables.jobs.remove(scene.row("stopped"))


@wrong("lost")
def a_run_was_of_no_job(scene: Scene) -> None:
    scene.note("begin", job=4711, token=1, name="nobody's")


@wrong("not ended")
def an_accepted_job_waits(scene: Scene) -> None:
    scene.add("waits")


@wrong("not ended")
def an_accepted_job_runs(scene: Scene) -> None:
    scene.add("runs")
    scene.begin("runs")


@wrong("not ended")
def a_job_waits_whose_producer_was_refused(scene: Scene) -> None:
    scene.note("offer", name="unheard", key="unheard")
    scene.note("refuse", name="unheard", error="the connection is closed")
    scene.add("unheard", offered=False, key="unheard")


@wrong("not ended")
def a_tick_s_job_waits(scene: Scene) -> None:
    scene.entry("late", 2)
    scene.add("late 2", offered=False, key=f"conveyor:cron:late:{MIDNIGHT + 2 * MINUTE:%Y-%m-%dT%H:%M:%SZ}")
    scene.count_tick("late", MIDNIGHT + 2 * MINUTE)


@wrong("not ended")
def a_callback_is_still_blocked(scene: Scene) -> None:
    scene.set("callback", state="blocked")


@wrong("key made two jobs")
def a_second_try_made_a_second_job(scene: Scene) -> None:
    scene.add("plain again", key="key of plain", idempotency_key=None)
    scene.run("plain again")


@wrong("another's key")
def a_producer_was_told_another_s_job(scene: Scene) -> None:
    scene.line("stopped", "accept")["job"] = scene.ids["callback"]
    scene.set("callback", idempotency_key="of nobody")


@wrong("another's work")
def a_run_had_another_s_arguments(scene: Scene) -> None:
    scene.line("plain", "begin")["name"] = "retried"


@wrong("end without a reason")
def a_job_failed_that_never_ran(scene: Scene) -> None:
    scene.set("stopped", state="failed")


@wrong("end without a reason")
def a_job_was_cancelled_by_nobody(scene: Scene) -> None:
    scene.set("stopped", cancel_requested_at=None)


@wrong("end without a reason")
def a_job_was_cancelled_with_one_that_succeeded(scene: Scene) -> None:
    scene.add("sibling", state="cancelled")
    scene.need("sibling", "parent")


@wrong("end without a reason")
def a_job_was_cancelled_that_was_to_go_on(scene: Scene) -> None:
    scene.add("second heir", state="cancelled")
    scene.need("second heir", "loser", "ignore")
