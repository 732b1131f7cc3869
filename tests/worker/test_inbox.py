"""The pump's inbox: no message is lost, no wake-up either, and a batch wakes once."""

from __future__ import annotations

import threading

from conveyor_django.worker.inbox import Inbox

# A wait that a message should end; were the wake-up lost, the test would run into its own timeout.
LONG = 1000.0


def test_messages_come_in_their_order_and_once():
    inbox: Inbox[int] = Inbox()
    for number in range(3):
        inbox.put(number)
    assert inbox.take() == [0, 1, 2]
    assert inbox.take() == []


def test_what_is_there_already_ends_the_wait():
    inbox: Inbox[str] = Inbox()
    inbox.put("first")
    inbox.wait(LONG)
    assert inbox.take() == ["first"]


def test_a_wait_in_vain_ends_by_itself_also_after_an_old_ring():
    inbox: Inbox[str] = Inbox()
    inbox.put("rings, and is taken")
    inbox.take()
    inbox.wait(0.001)
    assert inbox.take() == []


def test_one_message_wakes_who_waits_for_any():
    inbox: Inbox[str] = Inbox()
    waiting = threading.Thread(target=inbox.wait, args=(LONG,))
    waiting.start()
    inbox.put("only")
    waiting.join()
    assert inbox.take() == ["only"]


def test_a_quorum_wakes_with_its_last_message():
    inbox: Inbox[int] = Inbox()
    found: list[list[int]] = []

    def wait_for_three() -> None:
        inbox.wait(LONG, quorum=3)
        found.append(inbox.take())

    inbox.put(0)
    waiting = threading.Thread(target=wait_for_three)
    waiting.start()
    inbox.put(1)
    inbox.put(2)
    waiting.join()
    assert found == [[0, 1, 2]]


def test_no_wake_up_is_lost_between_many_threads():
    inbox: Inbox[int] = Inbox()
    producers, each = 8, 2000
    threads = [threading.Thread(target=lambda: [inbox.put(n) for n in range(each)]) for _ in range(producers)]
    for thread in threads:
        thread.start()
    taken: list[int] = []
    while (left := producers * each - len(taken)) > 0:
        inbox.wait(LONG, quorum=min(left, 5))
        taken += inbox.take()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(list(range(each)) * producers)
