"""Management commands that run as processes of their own, as in production."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Self

# How long a program may take to end after SIGTERM, in seconds.
STOP_SECONDS: Final = 20.0

Event = dict[str, Any]


class ProgramFailed(Exception):
    """A program ended that should run, or would not end."""


class Log:
    """The file of a program's output, of which the JSON lines are its events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._events: list[Event] = []
        self._read = 0

    def __str__(self) -> str:
        return str(self.path)

    def events(self, name: str, **fields: Any) -> list[Event]:
        """Return the events of that name so far that have these fields."""
        self._events.extend(self._new_events())
        wanted = {"event": name, **fields}
        return [event for event in self._events if wanted.items() <= event.items()]

    def tail(self, lines: int) -> list[str]:
        """Return the last lines, events or not."""
        return self.path.read_text(errors="replace").splitlines()[-lines:]

    def _new_events(self) -> Iterator[Event]:
        with self.path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._read += len(line)
                # A traceback of the interpreter may stand between the events.
                with contextlib.suppress(ValueError):
                    yield json.loads(line)


class Program:
    """One running command of this project; its output goes to `log`, where its JSON lines are read back."""

    def __init__(self, *command: str, log: Path, environ: Mapping[str, str]) -> None:
        self.name = command[0]
        self.log = Log(log)
        with log.open("wb") as output:
            # In a session of its own: Ctrl-C in the terminal is for the demo, which then stops its programs.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "testproject", *command, "--log-format", "json"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environ},
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        """Return the program; it ends with the block."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Kill what is still there."""
        if self._process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)
            self._process.wait()

    @property
    def pid(self) -> int:
        """The process id of the command itself, for a worker that of its supervisor."""
        return self._process.pid

    def require_running(self) -> None:
        """Raise ProgramFailed, with the end of its output, if the program has ended."""
        code = self._process.poll()
        if code is not None:
            raise self._failure(code)

    def stop(self) -> None:
        """Ask the program to end and wait for it. Raises ProgramFailed if it does not, or not well."""
        self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise ProgramFailed(
                f"{self.name} did not end within {STOP_SECONDS:.0f} s of SIGTERM; see {self.log}."
            ) from None
        if code != 0:
            raise self._failure(code)

    def _failure(self, code: int) -> ProgramFailed:
        return ProgramFailed("\n".join([f"{self.name} ended with {code}; see {self.log}:", *self.log.tail(15)]))
