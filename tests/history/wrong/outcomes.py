"""Outcomes that do not fit the runs, the ledger or each other."""

from __future__ import annotations

from ..scene import MIDNIGHT, Scene
from .marking import wrong


@wrong("success and ledger differ")
def a_success_is_not_in_the_ledger(scene: Scene) -> None:
    scene.add("unrecorded")
    token = scene.begin("unrecorded")
    scene.tell("unrecorded", token, "end")
    scene.end("unrecorded", token, "retry", "succeeded", raised=False)


@wrong("success and ledger differ")
def a_job_was_taken_back_that_had_succeeded(scene: Scene) -> None:
    scene.set("child", state="cancelled", cancel_requested_at=MIDNIGHT)


@wrong("success and ledger differ", "two outcomes of a run", "run after the success", "run without an outcome")
def the_old_run_completed_the_newer_one_s_job(scene: Scene) -> None:
    scene.change(scene.tables.ledger, "parent", lease_version=1)


@wrong("success without a run")
def a_success_of_which_no_handler_knows(scene: Scene) -> None:
    scene.forget("child", "begin")
    scene.forget("child", "end")


@wrong("success without a run")
def a_handler_succeeded_that_did_not_return(scene: Scene) -> None:
    scene.forget("child", "end")


@wrong("success without a run")
def a_handler_succeeded_that_raised(scene: Scene) -> None:
    scene.line("child", "end").update(event="abort", error="no")


@wrong("run after the success", "success and ledger differ")
def a_job_was_rescued_that_had_succeeded(scene: Scene) -> None:
    scene.end("child", scene.begin("child"), "rescue", "succeeded", raised=False)


@wrong("run after the success", "token never given")
def a_handler_began_after_the_success(scene: Scene) -> None:
    scene.tell("child", 2, "begin", name="child")


@wrong("two outcomes of a run")
def a_run_failed_that_had_succeeded(scene: Scene) -> None:
    scene.end("plain", 1, "rescue", "succeeded", raised=False)


@wrong("two outcomes of a run")
def a_run_failed_twice(scene: Scene) -> None:
    scene.tables.attempts.append(scene.tables.attempts[0])


@wrong("run without an outcome")
def a_claim_of_which_nothing_is_known(scene: Scene) -> None:
    scene.drop(scene.tables.attempts, "retried", lease_version=1)


@wrong("run without an outcome")
def a_lost_run_left_no_trace(scene: Scene) -> None:
    scene.drop(scene.tables.attempts, "frozen", lease_version=1)


@wrong("outcome nobody asked for")
def a_run_was_ended_that_its_worker_did_not_name(scene: Scene) -> None:
    scene.lines = [line for line in scene.lines if line.get("verb") != "end"]


@wrong("outcome nobody asked for")
def a_run_succeeded_by_the_name_of_another(scene: Scene) -> None:
    for event in ("ask", "answer"):
        scene.line("asked", event, verb="succeed")["token"] = 1
    scene.line("asked", "answer", verb="succeed")["won"] = False
