"""Histories that are wrong on purpose: each function spoils a right one, and names the rules that have to find it."""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from .scene import MIDNIGHT, MINUTE, Scene
from .tables import EffectRow

Spoil = Callable[[Scene], None]

WRONG: Final[list[tuple[set[str], Spoil]]] = []


def wrong(*rules: str) -> Callable[[Spoil], Spoil]:
    """Note that what the function does to a right history breaks these rules and no others."""

    def note(spoil: Spoil) -> Spoil:
        WRONG.append((set(rules), spoil))
        return spoil

    return note


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
    _count_tick(scene, "late", MIDNIGHT + 2 * MINUTE)


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


@wrong("effect twice")
def an_effect_is_there_twice(scene: Scene) -> None:
    scene.effect("plain", 1)


@wrong("effect twice")
def an_atomic_step_s_effect_is_there_twice(scene: Scene) -> None:
    scene.effect("stepped", 3, "atomic")


@wrong("effect without its commit")
def a_job_has_an_effect_that_failed(scene: Scene) -> None:
    scene.effect("loser", 1)


@wrong("effect without its commit")
def the_zombie_s_effect_is_there(scene: Scene) -> None:
    scene.change(scene.tables.effects, "retried", token=2)


@wrong("effect without its commit")
def an_atomic_step_was_not_recorded(scene: Scene) -> None:
    scene.drop(scene.tables.ledger, "stepped", step="atomic")


@wrong("effect missing")
def a_success_has_no_effect(scene: Scene) -> None:
    scene.drop(scene.tables.effects, "plain")


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


@wrong("stale token won")
def a_late_renewal_was_taken(scene: Scene) -> None:
    scene.line("asked", "answer", verb="renew")["won"] = True


@wrong("stale token won")
def a_late_outcome_was_taken(scene: Scene) -> None:
    scene.ask("asked", 1, "end")
    scene.answer("asked", 1, "end", won=True)


@wrong("token of two runs")
def two_processes_ran_under_one_token(scene: Scene) -> None:
    scene.lines.append(scene.line("frozen", "begin", token=2) | {"pid": 2})


@wrong("token of two owners")
def two_owners_wrote_under_one_token(scene: Scene) -> None:
    scene.change(scene.tables.ledger, "stepped", {"step": "second"}, owner=uuid.UUID(int=2))


@wrong("token never given")
def a_run_had_a_token_of_its_own_making(scene: Scene) -> None:
    scene.tell("loser", 2, "begin", name="loser")


@wrong("token never given")
def an_effect_has_a_token_of_its_own_making(scene: Scene) -> None:
    scene.tables.effects.append(EffectRow(name="parent", job=scene.ids["parent"], token=7, step=None))


@wrong("store took a stale token")
def the_store_s_own_order_is_wrong(scene: Scene) -> None:
    last = next(put for put in reversed(scene.puts) if not put.accepted)
    scene.puts[scene.puts.index(last)] = last._replace(accepted=True)


@wrong("store took a stale token")
def a_late_put_was_accepted(scene: Scene) -> None:
    scene.tell("frozen", 2, "put", accepted=True)


@wrong("store refused the newest")
def the_winner_was_refused(scene: Scene) -> None:
    scene.line("frozen", "put", token=3)["accepted"] = False


@wrong("step twice")
def the_ledger_has_a_step_twice(scene: Scene) -> None:
    scene.ledger("stepped", 3, "second")


@wrong("step twice")
def a_run_took_a_step_twice(scene: Scene) -> None:
    scene.lines.append(scene.line("stepped", "step_begin", step="second", token=3))


@wrong("recorded step ran again")
def a_later_run_took_the_step_again(scene: Scene) -> None:
    scene.tell("stepped", 3, "step_begin", step="first")


@wrong("step without a run")
def a_step_is_recorded_that_nobody_took(scene: Scene) -> None:
    scene.ledger("stepped", 3, "third")


@wrong("step without a run")
def a_step_is_recorded_that_was_not_taken_to_its_end(scene: Scene) -> None:
    scene.forget("stepped", "step_end", step="first", token=2)


@wrong("dependant too early")
def a_child_began_before_its_parent_ended(scene: Scene) -> None:
    scene.move(scene.line("child", "begin"), before=scene.line("parent", "end", token=2))


@wrong("dependant too early")
def a_child_s_lost_run_began_before_its_parent_ended(scene: Scene) -> None:
    scene.add("lost child")
    scene.need("lost child", "parent")
    token = scene.begin("lost child")
    scene.move(scene.line("lost child", "begin"), before=scene.line("parent", "end", token=2))
    scene.rescue("lost child", token)
    scene.run("lost child")


@wrong("dependant too early")
def an_heir_began_before_its_parent_failed(scene: Scene) -> None:
    scene.move(scene.line("heir", "begin"), before=scene.line("loser", "abort"))


@wrong("dependant too early", "not ended")
def a_child_began_whose_parent_is_still_to_run(scene: Scene) -> None:
    scene.add("late parent", offered=False)
    scene.need("narrow two", "late parent")


@wrong("dependant of a failure ran")
def an_orphan_ran(scene: Scene) -> None:
    scene.run("orphan")


@wrong("cap exceeded")
def two_ran_where_one_may(scene: Scene) -> None:
    scene.move(scene.line("narrow one", "begin", token=2), before=scene.line("narrow two", "end"))


@wrong("cap exceeded")
def two_of_a_key_ran_where_one_may(scene: Scene) -> None:
    scene.move(scene.line("keyed a again", "begin"), before=scene.line("keyed a", "end"))


@wrong("tick twice")
def a_tick_has_two_jobs(scene: Scene) -> None:
    scene.add("again", offered=False, queue="other", key=scene.row("minutely 1").idempotency_key)
    scene.run("again")


@wrong("tick missing")
def a_tick_was_left_out(scene: Scene) -> None:
    scene.set("minutely 2", idempotency_key=None)


@wrong("tick missing")
def the_last_tick_was_counted_without_its_job(scene: Scene) -> None:
    _count_tick(scene, "minutely", MIDNIGHT + 4 * MINUTE)


@wrong("tick missing")
def the_last_ticks_have_lost_their_jobs(scene: Scene) -> None:
    for number in (2, 3):
        scene.set(f"minutely {number}", idempotency_key=None)


@wrong("tick after the last")
def a_tick_is_not_in_its_entry(scene: Scene) -> None:
    _count_tick(scene, "minutely", MIDNIGHT + 2 * MINUTE)


def _count_tick(scene: Scene, name: str, tick: dt.datetime) -> None:
    """Let the entry say that this was its last tick."""
    [entry] = [entry for entry in scene.tables.crons if entry.name == name]
    scene.tables.crons[scene.tables.crons.index(entry)] = replace(entry, last_tick=tick)
