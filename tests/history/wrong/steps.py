"""Durable steps that are taken or recorded as they must not be."""

from __future__ import annotations

from ..scene import Scene
from .marking import wrong


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
