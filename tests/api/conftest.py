"""Fixtures of the tests of the HTTP API."""

from __future__ import annotations

import pytest

from . import tasks  # noqa: F401 - declares them
from .client import Api, with_token


@pytest.fixture
def api(db: None) -> Api:
    """A client that may do everything, in every queue."""
    return with_token()
