"""`manage.py conveyor_resume`: undo a pause."""

from __future__ import annotations

from typing import ClassVar

from ...queues import resume_queue, resume_task
from ..pausing import PausingCommand


class Command(PausingCommand):
    """Resume queues and tasks."""

    help = (
        "Let the jobs of a queue, or of a task, be claimed again. "
        "Exit code: 0 if it is done, 1 if one that is named is none; the others are done then."
    )
    said = "its jobs are claimed again."
    acts: ClassVar = {"queue": resume_queue, "task": resume_task}
