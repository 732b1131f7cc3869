"""server_timeline: which history of the database this is."""

from __future__ import annotations

import pytest
from django.db import connection

from conveyor_django.models import Worker

from ..support.connections import scalar


@pytest.mark.django_db
def test_it_is_the_checkpoint_s_timeline_in_hex() -> None:
    timeline = Worker.objects.server_timeline()
    assert len(timeline) == 8
    assert int(timeline, 16) == scalar(connection, "SELECT timeline_id FROM pg_control_checkpoint()")
