"""Effects that are there twice, without their commit, or not at all."""

from __future__ import annotations

from ..scene import Scene
from .marking import wrong


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
