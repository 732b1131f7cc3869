"""What commands print as processes: cut off, or with no database to read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..support.databases import process_environment

READING = [
    ["conveyor_status"], ["conveyor_explain", "1"], ["conveyor_cron"], ["conveyor_stuck"], ["conveyor_token", "list"],
    ["conveyor_retry", "--state", "failed", "--dry-run"],
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "code"), [*((each, 0) for each in READING), (["conveyor_doctor"], 2)])
def test_what_is_cut_off_ends_without_a_word(transactional_db: None, arguments: list[str], code: int) -> None:
    """As `conveyor_status | head` may be; the worst case of it, in which nobody reads a word."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as out:
        done = subprocess.run(
            [sys.executable, "-m", "testproject", *arguments], env=process_environment(), stdout=out,
            stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("arguments", READING)
def test_without_its_database_each_says_so_in_a_line(tmp_path: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "testproject", *arguments],
        env=process_environment() | {"DATABASE_URL": f"postgresql://nobody@/nothing?host={tmp_path}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "CommandError: " in done.stderr
    assert str(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr
