"""More at once than a cap allows."""

from __future__ import annotations

from ..scene import Scene
from .marking import wrong


@wrong("cap exceeded")
def two_ran_where_one_may(scene: Scene) -> None:
    scene.move(scene.line("narrow one", "begin", token=2), before=scene.line("narrow two", "end"))


@wrong("cap exceeded")
def two_of_a_key_ran_where_one_may(scene: Scene) -> None:
    scene.move(scene.line("keyed a again", "begin"), before=scene.line("keyed a", "end"))
