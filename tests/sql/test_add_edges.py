"""add_edges: unresolved, each with its policy; what could close a circle is refused."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from conveyor_django.managers.workflows import Edge
from conveyor_django.models import Dependency, Workflow
from conveyor_django.states import OnFailure

pytestmark = pytest.mark.django_db


def test_they_are_unresolved() -> None:
    Workflow.objects.add_edges([Edge(2, 1, OnFailure.CANCEL), Edge(3, 1, OnFailure.RUN), Edge(3, 2, OnFailure.IGNORE)])
    stored = Dependency.objects.values_list("job_id", "needs_id", "on_failure", "resolved")
    assert set(stored) == {(2, 1, "cancel", False), (3, 1, "run", False), (3, 2, "ignore", False)}


def test_none() -> None:
    Workflow.objects.add_edges([])
    assert not Dependency.objects.exists()


@pytest.mark.parametrize(("job", "needed"), [(1, 2), (1, 1)])
def test_only_from_the_younger_to_the_older(job: int, needed: int) -> None:
    with pytest.raises(IntegrityError, match="conveyor_dependency_order"), transaction.atomic():
        Workflow.objects.add_edges([Edge(job, needed, OnFailure.CANCEL)])


def test_each_once() -> None:
    with pytest.raises(IntegrityError, match="conveyor_dependency_edge"), transaction.atomic():
        Workflow.objects.add_edges([Edge(2, 1, OnFailure.CANCEL), Edge(2, 1, OnFailure.RUN)])
