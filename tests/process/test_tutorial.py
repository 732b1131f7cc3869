"""The tutorial, followed word by word, in a new project with a PostgreSQL of its own."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
# What is installed here already.
SKIPPED = ("python3 -m venv", ". .venv/bin/activate", "pip install")


def bash(line: str, folder: Path, environment: dict[str, str]) -> str:
    ran = subprocess.run(
        ["bash", "-c", line], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    # Who kills a worker on purpose is told so by the shell.
    assert ran.returncode == 0 or "kill -9" in line, f"$ {line}\n{ran.stdout}"
    return ran.stdout


def type_in(block: str, folder: Path, environment: dict[str, str]) -> Path:
    """Run the lines that begin with $, and compare what they print with what follows; return the folder then."""
    for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        line, _, expected = command.partition("\n")
        if line.startswith(SKIPPED):
            continue
        if line.startswith("cd "):
            folder /= line.removeprefix("cd ")
            continue
        printed = bash(line, folder, environment)
        assert expected.strip() in printed, f"$ {line}\n{printed}"
    return folder


def write(block: str, folder: Path) -> None:
    """Do with the file what the first line says."""
    heading, _, text = block.partition("\n")
    named = re.fullmatch(r"# (\S+?)(?:, (at the end|in place of the line with (\S+)))?", heading)
    assert named, heading
    path = folder / named[1]
    if named[3]:
        old = path.read_text()
        [line] = [line for line in old.splitlines() if named[3] in line and line.strip().startswith("if ")]
        path.write_text(old.replace(line, text.rstrip()))
    elif named[2]:
        path.write_text(path.read_text() + text)
    else:
        path.write_text(text)


@pytest.mark.long
def test_it_works_as_it_is_written(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("DJANGO_", "DATABASE_"))}
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    try:
        folder = follow(tmp_path, environment)
        assert (folder / "notes.txt").read_text().count("first step") == 1
    finally:
        # The page's last line has stopped it, if we have come so far.
        for pid_file in tmp_path.glob("*/.postgres/postmaster.pid"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid_file.read_text().split()[0]), signal.SIGINT)


def follow(folder: Path, environment: dict[str, str]) -> Path:
    """Do what the page says, one block after the other; return the folder of the project."""
    for kind, block in BLOCK.findall((ROOT / "docs" / "tutorial.md").read_text()):
        if kind == "python":
            write(block, folder)
        else:
            folder = type_in(block, folder, environment)
    return folder
