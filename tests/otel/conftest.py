"""Fixtures for tests with OpenTelemetry's SDK."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import TransactionTestCase

from ..effects.conftest import bench, effects, one
from .recorder import Recorder, opentelemetry_set_up

__all__ = ["bench", "effects", "one"]


@pytest.fixture(scope="module", autouse=True)
def no_flush() -> Iterator[None]:
    """Leave the cleaning to `bench`, as in tests/effects."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: None)
        yield


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """OpenTelemetry, set up; the spans that it has exported."""
    recorder = Recorder()
    with opentelemetry_set_up(recorder.provider):
        yield recorder
    recorder.provider.shutdown()
