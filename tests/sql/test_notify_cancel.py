"""notify_cancel: one notification, the job's id as the payload."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.connections import Connect


@pytest.mark.parametrize("job_id", [1, 2**63 - 1])
def test_the_job_by_its_id(connect: Connect, job_id: int) -> None:
    listener = connect()
    listener.execute('LISTEN "conveyor test"')
    Job.objects.notify_cancel(job_id, channel="conveyor test", on=connect())
    [heard] = listener.notifies(timeout=20, stop_after=1)
    assert heard.payload == str(job_id)
