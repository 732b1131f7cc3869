"""A job that may be claimed, and is not."""

from __future__ import annotations

from ..fleet import named
from ..wording import listed
from .answer import Code, Reason
from .limits import ahead, limits
from .locks import row_locked
from .scene import Scene
from .workers import deaf, serving, suspect, unknown_task, workers


def ready(scene: Scene) -> list[Reason]:
    """Say all that keeps it from being claimed at once; and if that is nothing, so."""
    against = [*limits(scene), *row_locked(scene), *workers(scene), *unknown_task(scene)]
    later = [*suspect(scene), *ahead(scene), *deaf(scene)]
    return [*against, *later] or [_claimable(scene)]


def _claimable(scene: Scene) -> Reason:
    poll = scene.fleet.settings.poll_seconds
    text = (
        f"nothing keeps it from being claimed: {listed(map(named, serving(scene)))} should do so at once, at the "
        f"latest with the next poll ({poll:g} s)."
    )
    return Reason(
        Code.CLAIMABLE,
        text,
        "Ask again in a few seconds. If it still waits, look into that worker's log; is it stopped?",
    )
