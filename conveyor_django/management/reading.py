"""What the commands have in common that look and print, and change nothing."""

from __future__ import annotations

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand


class ReadingCommand(BaseCommand):
    """A command whose output may be cut off, as `head` does: it ends without a word then."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run, until nobody reads any more."""
        try:
            return super().execute(*args, **options)
        except BrokenPipeError:
            return None
        finally:
            # Also where it ends by its exit code.
            _leave_broken_pipe()


def _leave_broken_pipe() -> None:
    """Let Python's last flush write to nowhere if nobody reads any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
