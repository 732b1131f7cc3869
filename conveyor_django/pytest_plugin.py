"""A pytest plugin with one fixture; pytest finds it by itself (entry point `pytest11`)."""

from __future__ import annotations

from types import SimpleNamespace

import pytest


@pytest.fixture
def conveyor(db: None) -> SimpleNamespace:  # noqa: ARG001 - for the database
    """Give the functions of `conveyor_django.testing`, as in `conveyor.drain()`.

    Asks for pytest-django's `db`; ask for `transactional_db` too where commits have to be real.
    """
    # At first use: a plugin is loaded before the settings are.
    from conveyor_django import testing

    return SimpleNamespace(**{name: getattr(testing, name) for name in testing.__all__})
