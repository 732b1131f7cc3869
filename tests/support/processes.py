"""Real worker and scheduler processes, driven by real signals and watched through their JSON log lines."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import psutil

from .databases import process_environment
from .waits import wait_until

PATIENCE = 30.0


class Process:
    """One `python -m testproject COMMAND --log-format json`, and what it has logged."""

    def __init__(self, command: str, *arguments: str, environment: dict[str, str]) -> None:
        self.events: list[dict[str, Any]] = []
        self.other: list[str] = []
        self._changed = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "testproject", command, "--log-format", "json", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, args=(self._process.stderr,))
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.poll()

    def log(self, name: str, **fields: Any) -> list[dict[str, Any]]:
        """Return the lines of that event with those fields so far."""
        return [e for e in list(self.events) if e["event"] == name and all(e.get(k) == v for k, v in fields.items())]

    def wait_for(self, name: str, count: int = 1, **fields: Any) -> dict[str, Any]:
        """Wait for the event, `count` times; return the last of them."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.log(name, **fields)) >= count, PATIENCE):
                raise AssertionError(f"no {count} × {name} {fields} in:\n{self.dump()}")
        return self.log(name, **fields)[count - 1]

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self, patience: float = PATIENCE) -> int:
        """Wait for the end; return the exit code."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {patience:g} s:\n{self.dump()}") from None
        self._reader.join()
        return code

    def stop(self) -> int:
        """Ask for the end and wait for it."""
        if self.returncode is None:
            self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Make sure that nothing of it is left, also of what it has not told."""
        children = {*self.child_pids()}
        if self.returncode is None:
            # Stopped first: what is about to be started would be missed.
            self.signal(signal.SIGSTOP)
            children.update(child.pid for child in psutil.Process(self.pid).children(recursive=True))
            self.signal(signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()

    def child_pids(self) -> list[int]:
        """Return the pids of the children that it has started and not seen end."""
        ended = {e["pid"] for name in ("child.died", "child.ended") for e in self.log(name)}
        return [e["pid"] for e in self.log("child.started") if e["pid"] not in ended]

    def dump(self) -> str:
        return "\n".join([*(json.dumps(e) for e in self.events), *self.other])

    def _read(self, stream: IO[str]) -> None:
        with stream:
            for line in stream:
                with self._changed:
                    self._note(line)
                    self._changed.notify_all()

    def _note(self, line: str) -> None:
        """Keep a line: an event, or what else was written, such as the halves of two that came at once."""
        with contextlib.suppress(ValueError):
            if isinstance(entry := json.loads(line), dict) and "event" in entry:
                self.events.append(entry)
                return
        self.other.append(line.rstrip())


class Desk:
    """A test's folder for its handlers: their journal, and the word to go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def lines(self, what: str, name: str | None = None) -> list[list[str]]:
        """Return the journal's entries ``[what, name, pid]``."""
        journal = Path(self.folder) / "journal"
        entries = [line.split() for line in journal.read_text().splitlines()] if journal.exists() else []
        return [e for e in entries if e[0] == what and name in (None, e[1])]

    def wait_started(self, count: int, name: str | None = None) -> list[int]:
        """Wait until handlers have started so many times; return the pids that ran them."""
        wait_until(lambda: len(self.lines("start", name)) >= count, f"{count} starts", patience=PATIENCE)
        return [int(e[2]) for e in self.lines("start", name)]

    def go(self) -> None:
        (Path(self.folder) / "go").touch()


@contextlib.contextmanager
def running(
    command: str, *arguments: str, lease: float = 3.0, grace: float = 10.0, **changes: str
) -> Iterator[Process]:
    """Run a command on the test database; whatever happens, nothing of it is left."""
    environment = process_environment() | {
        "CONVEYOR_LEASE_SECONDS": str(lease),
        "CONVEYOR_GRACE_SECONDS": str(grace),
    }
    process = Process(command, *arguments, environment=environment | changes)
    try:
        yield process
        if process.returncode is None:
            process.stop()
    except BaseException:
        # Shown by pytest with the failure: what the process said until then.
        sys.stderr.write(f"{command}:\n{process.dump()}\n")
        raise
    finally:
        process.kill()
