"""draw_ready_seqs: places in line, in order, behind all that were drawn before."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.factories import JobFactory

pytestmark = pytest.mark.django_db


def test_so_many_each_behind_the_last() -> None:
    before = JobFactory().ready_seq
    drawn = Job.objects.draw_ready_seqs(5)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 5
    assert before < drawn[0]
    assert drawn[-1] < JobFactory().ready_seq


def test_none() -> None:
    assert Job.objects.draw_ready_seqs(0) == []
