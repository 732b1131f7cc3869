"""Noticing that source files have changed, for `--reload` in development."""

from __future__ import annotations

from pathlib import Path

from django.utils.autoreload import StatReloader


class FileWatch:
    """Compares the modification times of the project's Python files with those of the last look."""

    def __init__(self) -> None:
        self._reloader = StatReloader()
        self._seen = dict(self._reloader.snapshot_files())

    def changed(self) -> Path | None:
        """Return a file that has changed since the last look, or None."""
        now = dict(self._reloader.snapshot_files())
        # A file that only now was imported is not a change.
        changed = next((path for path, at in now.items() if self._seen.get(path, at) != at), None)
        self._seen = now
        return changed
