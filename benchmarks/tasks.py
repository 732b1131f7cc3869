"""Handlers that record on their own side, outside of the database, that they ran."""

from __future__ import annotations

import os
from functools import cache
from typing import BinaryIO

from benchmarks.records import RECORD
from conveyor_django.tasks import task


@cache
def _file() -> BinaryIO:
    """Return this process's record, opened once; unbuffered, so that a `kill -9` loses nothing."""
    folder = os.environ["CONVEYOR_BENCHMARK_RECORDS"]
    return open(f"{folder}/{os.getpid()}.record", "ab", buffering=0)  # noqa: PTH123 - kept open


@task
def noop(sequence: int) -> None:
    """Do nothing but record the number."""
    _file().write(RECORD.pack(sequence))


@task
def padded(sequence: int, pad: str) -> None:
    """Do nothing, with a payload."""
