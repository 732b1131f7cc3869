"""Ticks twice, left out, or not in their entry."""

from __future__ import annotations

from ..scene import MIDNIGHT, MINUTE, Scene
from .marking import wrong


@wrong("tick twice")
def a_tick_has_two_jobs(scene: Scene) -> None:
    scene.add("again", offered=False, queue="other", key=scene.row("minutely 1").idempotency_key)
    scene.run("again")


@wrong("tick missing")
def a_tick_was_left_out(scene: Scene) -> None:
    scene.set("minutely 2", idempotency_key=None)


@wrong("tick missing")
def the_last_tick_was_counted_without_its_job(scene: Scene) -> None:
    scene.count_tick("minutely", MIDNIGHT + 4 * MINUTE)


@wrong("tick missing")
def the_last_ticks_have_lost_their_jobs(scene: Scene) -> None:
    for number in (2, 3):
        scene.set(f"minutely {number}", idempotency_key=None)


@wrong("tick after the last")
def a_tick_is_not_in_its_entry(scene: Scene) -> None:
    scene.count_tick("minutely", MIDNIGHT + 2 * MINUTE)
