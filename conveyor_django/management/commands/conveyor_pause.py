"""`manage.py conveyor_pause`: let nothing more of a queue or a task be claimed."""

from __future__ import annotations

from typing import ClassVar

from ...queues import pause_queue, pause_task
from ..pausing import PausingCommand


class Command(PausingCommand):
    """Pause queues and tasks."""

    help = (
        "Let nothing more of a queue, or of a task, be claimed; what runs, runs on, and enqueuing goes on. "
        "Exit code: 0 if it is done, 1 if one that is named is none; the others are done then."
    )
    said = "nothing more of it is claimed; what runs, runs on."
    acts: ClassVar = {"queue": pause_queue, "task": pause_task}
