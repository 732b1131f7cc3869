"""`conveyor_status --watch` as a process: it goes on until a signal ends it, cleanly."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator

from ..support.databases import process_environment

COMMAND = [sys.executable, "-m", "testproject", "conveyor_status", "--watch", "0.1"]


@contextlib.contextmanager
def watching(*arguments: str, **options: int) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [*COMMAND, *arguments], env=process_environment(), text=True, stderr=subprocess.PIPE, **options
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_piped_it_writes_a_line_for_each_look_until_ctrl_c(transactional_db: None) -> None:
    with watching("--json", stdout=subprocess.PIPE) as process:
        looks = [json.loads(process.stdout.readline())["databases"][0]["at"] for _ in range(3)]
        assert looks == sorted(set(looks))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (0, "")


def test_on_a_terminal_it_gives_the_cursor_back_also_at_sigterm(transactional_db: None) -> None:
    ours, theirs = pty.openpty()
    try:
        with watching(stdout=theirs) as process:
            os.close(theirs)
            seen = b""
            while seen.count(b"\x1b[?25l") < 2:
                seen += os.read(ours, 4096)
            process.send_signal(signal.SIGTERM)
            # The end of a terminal that nobody writes to any more is an error of its reader.
            with contextlib.suppress(OSError):
                while more := os.read(ours, 4096):
                    seen += more
            assert (process.wait(30), process.stderr.read()) == (0, "")
    finally:
        os.close(ours)
    assert seen.startswith(b"\x1b[2J")
    assert seen.rstrip().endswith(b"\x1b[?25h")


def test_it_ends_when_nobody_reads(transactional_db: None) -> None:
    with watching(stdout=subprocess.PIPE) as process:
        assert process.stdout.readline().startswith("Database default, ")
        process.stdout.close()
        assert process.wait(30) == 0
        assert process.stderr.read() == ""
