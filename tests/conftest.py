"""Fixtures for every test: a real PostgreSQL whose job table refuses illegal transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from django.db import connections

from .support.transitions import install_transition_guard

if TYPE_CHECKING:
    from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """Hold every statement of the suite against the one table of legal transitions."""
    with django_db_blocker.unblock():
        install_transition_guard(connections["default"])
