"""Fixtures of the operating commands: what they print, what they are answered, and a second alias."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections
from pytest_django import Settings

from conveyor_django.models import Job

from ..support.factories import AttemptFactory, JobFactory

SECOND = "second"


def failed_with(message: str, **fields: object) -> Job:
    """Make a job whose last run failed so, after one that failed otherwise."""
    job = JobFactory(failed=True, lease_version=2, **fields)
    AttemptFactory(job=job, lease_version=1, message="an earlier one: disk full")
    AttemptFactory(job=job, lease_version=2, message=message, verb="fail")
    return job


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run a command; return the lines of its output."""

    def run(command: str, *arguments: Any, **options: Any) -> list[str]:
        capsys.readouterr()
        call_command(command, *map(str, arguments), **options)
        return capsys.readouterr().out.splitlines()

    return run


@pytest.fixture
def run_json(capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run a command with --json; return what it printed, also where it ended with an error."""

    def run(command: str, *arguments: Any, **options: Any) -> Any:
        capsys.readouterr()
        try:
            call_command(command, *map(str, arguments), "--json", **options)
        finally:
            run.printed = capsys.readouterr().out  # type: ignore[attr-defined]
        return json.loads(run.printed)  # type: ignore[attr-defined]

    return run


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Type this at the question; "" for an end of the input."""

    def answer(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))

    return answer


@pytest.fixture
def second(transactional_db: None, settings: Settings) -> Iterator[str]:
    """Another alias of the same database, on which the queue "orders" lives."""
    connections.settings[SECOND] = connections.settings["default"]
    connections[SECOND].connect()
    settings.CONVEYOR = {"QUEUES": {"orders": {"DATABASE": SECOND}}}
    yield SECOND
    connections[SECOND].close()
    del connections[SECOND]
    del connections.settings[SECOND]
