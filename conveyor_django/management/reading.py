"""Commands whose output may be cut off, as `head` does; and those of them that look and print, and change nothing."""

from __future__ import annotations

import os
import sys
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError
from django.db import Error as DjangoError


class PipedCommand(BaseCommand):
    """A command that ends without a word where nobody reads any more what it prints."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run, until nobody reads any more."""
        try:
            return super().execute(*args, **options)
        except BrokenPipeError:
            return None
        finally:
            # Also where it ends by its exit code.
            _leave_broken_pipe()


class ReadingCommand(PipedCommand):
    """A command that looks and prints."""

    def execute(self, *args: Any, **options: Any) -> Any:
        """Run; an error of the database is the command's, in one line."""
        try:
            return super().execute(*args, **options)
        except (DjangoError, psycopg.Error) as error:
            raise CommandError(f"The database cannot be read: {str(error).strip() or repr(error)}") from error


def _leave_broken_pipe() -> None:
    """Let Python's last flush write to nowhere if nobody reads any more."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
