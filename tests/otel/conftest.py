"""Fixtures for tests with OpenTelemetry's SDK."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ..effects.conftest import bench, effects, one
from .recorder import Recorder, opentelemetry_set_up
from .running import board

__all__ = ["bench", "board", "effects", "one"]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """OpenTelemetry, set up; the spans that it has exported."""
    recorder = Recorder()
    with opentelemetry_set_up(recorder.provider):
        yield recorder
    recorder.provider.shutdown()
