"""The demo as `make demo` runs it, in a database of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import DjangoDbBlocker

from tests.support.connections import plain_connection
from tests.support.databases import process_environment


@pytest.fixture
def environment(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, str]]:
    """Make a database, and the environment that names it."""
    name = f"conveyor_demo_{os.getpid()}"
    with django_db_blocker.unblock(), plain_connection() as connection:
        connection.execute(f"CREATE DATABASE {name}")
        yield process_environment(NAME=name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_the_demo_shows_what_it_promises(environment: dict[str, str], tmp_path: Path) -> None:
    demo = subprocess.run(
        [sys.executable, "-m", "testproject", "demo", "--logs", str(tmp_path)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    worker = tmp_path / "worker.log"
    assert demo.returncode == 0, "\n".join(
        [demo.stdout, demo.stderr, worker.read_text() if worker.exists() else "no log of the worker"]
    )
    for line in (
        "SIGSTOP  to child", "SIGKILL  to child", "SIGCONT  to child", "0 new rows",
        "500 succeeded", "Every job succeeded, every effect is there exactly once",
    ):  # fmt: skip
        assert line in demo.stdout
