"""notify_queues: a notification per queue, its name as the payload."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job

from ..support.connections import Connect

CHANNEL = "conveyor test"


def notified(connect: Connect, *queues: str, listen: str = CHANNEL) -> list[str]:
    """Listen, notify from another connection, and return what arrives before a last, known notification."""
    listener, sender = connect(), connect()
    listener.execute(f'LISTEN "{listen}"')
    Job.objects.notify_queues(queues, channel=CHANNEL, on=sender)
    sender.execute("SELECT pg_notify(%s, 'last')", (listen,))
    arrived = []
    for notification in listener.notifies(timeout=20):
        if notification.payload == "last":
            return arrived
        arrived.append(notification.payload)
    pytest.fail("the last notification never arrived")


def test_each_queue_by_name(connect: Connect) -> None:
    assert sorted(notified(connect, "a", "b c", "ä")) == ["a", "b c", "ä"]


def test_another_channel_hears_nothing(connect: Connect) -> None:
    assert notified(connect, "a", listen="another") == []


def test_nothing_to_say(connect: Connect) -> None:
    assert notified(connect) == []


def test_its_commit_does_not_wait_for_the_disk(connect: Connect) -> None:
    sender = connect()
    with sender.transaction():
        Job.objects.notify_queues(["a"], channel=CHANNEL, on=sender)
        assert sender.execute("SHOW synchronous_commit").fetchone() == ("off",)
    assert sender.execute("SHOW synchronous_commit").fetchone() == ("on",)
