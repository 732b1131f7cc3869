"""Dependants that began too early, or at all."""

from __future__ import annotations

from ..scene import Scene
from .marking import wrong


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
