"""What is read of PostgreSQL's protocol along the way."""

from __future__ import annotations

import struct

import pytest

from conveyor_django.sql import names, statement

from .wire import Replies, Requests, kind_of

START = struct.pack("!II", 8, 196608)


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!I", len(body) + 4) + body


PARSE = message(b"P", b"one\0SELECT $1\0\0\0")
BIND = message(b"B", b"\0one\0\0\0\0\0\0\0")
EXECUTE = message(b"E", b"\0\0\0\0\0")


def test_a_client_says_its_name_at_connect():
    body = b"user\0postgres\0application_name\0conveyor x pump\0\0"
    requests = Requests()
    requests.feed(struct.pack("!II", 8 + len(body), 196608) + body)
    assert requests.application_name == "conveyor x pump"
    requests.feed(message(b"Q", b"SET application_name = 'conveyor x heartbeat'; SET jit = off\0"))
    assert requests.application_name == "conveyor x heartbeat"


def test_a_simple_query_is_seen():
    assert Requests().feed(START + message(b"Q", b"COMMIT\0")) == ["COMMIT"]


def test_a_prepared_statement_is_known_by_its_name_when_it_runs():
    requests = Requests()
    assert requests.feed(START + PARSE) == []
    assert requests.feed(BIND) == []
    assert requests.feed(EXECUTE) == ["SELECT $1"]
    assert requests.feed(BIND + EXECUTE) == ["SELECT $1"]


def test_it_does_not_matter_where_the_stream_is_cut():
    requests = Requests()
    stream = START + PARSE + BIND + EXECUTE + message(b"Q", b"COMMIT\0")
    seen = [text for byte in stream for text in requests.feed(bytes([byte]))]
    assert seen == ["SELECT $1", "COMMIT"]


def test_a_client_that_wants_tls_is_refused():
    with pytest.raises(ValueError, match="sslmode=disable"):
        Requests().feed(struct.pack("!II", 8, 80877103))


def test_replies_say_the_pid_and_how_many_requests_are_answered():
    replies = Replies()
    replies.feed(message(b"K", struct.pack("!II", 4711, 1)) + message(b"Z", b"I"))
    assert (replies.backend_pid, replies.answered) == (4711, 1)
    replies.feed(message(b"Z", b"I")[:3])
    assert replies.answered == 1
    replies.feed(message(b"Z", b"I")[3:])
    assert replies.answered == 2


def test_every_statement_file_is_known_by_its_first_line():
    assert [kind_of(statement(name)) for name in names()] == names()


@pytest.mark.parametrize(
    ("text", "kind"),
    [("commit", "COMMIT"), ("  SET  TRANSACTION ISOLATION", "SET TRANSACTION"), ("LISTEN conveyor", "LISTEN CONVEYOR")],
)
def test_other_statements_go_by_their_first_two_words(text: str, kind: str):
    assert kind_of(text) == kind
