"""The proxy does to a connection what it says, and nothing else; against a server that echoes lines."""

from __future__ import annotations

import socket
import socketserver
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.support.waits import wait_until

from .link import Fate, Link, Side
from .proxy import Proxy, Weather

START = struct.pack("!II", 8, 196608)
READY = b"Z" + struct.pack("!I", 5) + b"I"
PATIENCE = 10.0


class Echo(socketserver.BaseRequestHandler):
    """Answers each chunk by `ready for query`, and notes what it got."""

    def handle(self) -> None:
        try:
            while data := self.request.recv(65536):
                self.server.got.append(data)
                self.request.sendall(READY)
        except OSError:
            pass
        self.server.ended += 1


class EchoServer(socketserver.ThreadingUnixStreamServer):
    def __init__(self, path: str) -> None:
        super().__init__(path, Echo)
        self.got: list[bytes] = []
        self.ended = 0


@pytest.fixture
def server() -> Iterator[EchoServer]:
    with tempfile.TemporaryDirectory() as folder, EchoServer(str(Path(folder) / "echo")) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def query(text: str) -> bytes:
    body = text.encode() + b"\0"
    return b"Q" + struct.pack("!I", len(body) + 4) + body


@contextmanager
def client(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), PATIENCE) as connection:
        yield connection


def ask(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(65536)


def test_it_passes_on_both_ways_and_ends_with_its_client(server):
    with Proxy(server.server_address) as proxy:
        with client(proxy) as connection:
            assert ask(connection, START) == READY
            assert ask(connection, query("SELECT 1")) == READY
            assert server.got == [START, query("SELECT 1")]
        wait_until(lambda: server.ended == 1, "the server's end is closed too")
        wait_until(lambda: proxy.links() == [], "the proxy has let go of it")
        assert proxy.resets == 0


def test_latency_is_paid_each_way(server):
    with Proxy(server.server_address, weather=Weather(latency=0.03)) as proxy, client(proxy) as connection:
        began = time.monotonic()
        ask(connection, START)
        assert time.monotonic() - began >= 0.06


def test_a_request_is_lost(server):
    async def lose(_link: Link, statements: list[str]) -> Fate:
        return Fate.LOSE_REQUEST if "COMMIT" in statements else Fate.PASS

    with Proxy(server.server_address, rule=lose) as proxy, client(proxy) as connection:
        ask(connection, START)
        with pytest.raises(ConnectionResetError):
            ask(connection, query("COMMIT"))
        wait_until(lambda: server.ended == 1, "the server's end is closed too")
        assert server.got == [START]
        assert proxy.resets == 1


def test_a_reply_is_lost_after_the_server_has_done_what_was_asked(server):
    async def lose(_link: Link, statements: list[str]) -> Fate:
        return Fate.LOSE_REPLY if "COMMIT" in statements else Fate.PASS

    with Proxy(server.server_address, rule=lose) as proxy, client(proxy) as connection:
        ask(connection, START)
        with pytest.raises(ConnectionResetError):
            ask(connection, query("COMMIT"))
        assert server.got == [START, query("COMMIT")]


def test_half_open_both_ways_nothing_passes_and_nobody_is_told(server):
    with Proxy(server.server_address) as proxy, client(proxy) as connection:
        ask(connection, START)
        assert proxy.freeze() == 1
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            ask(connection, query("SELECT 1"))
        assert server.got == [START]
        proxy.thaw()
        connection.settimeout(PATIENCE)
        assert connection.recv(100) == READY


def test_half_open_the_server_hears_but_is_not_heard(server):
    with Proxy(server.server_address) as proxy, client(proxy) as connection:
        ask(connection, START)
        proxy.freeze([Side.REPLIES])
        connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            ask(connection, query("SELECT 1"))
        wait_until(lambda: server.got == [START, query("SELECT 1")], "the server has heard")


def test_half_open_swallows_the_end_of_a_connection(server):
    with Proxy(server.server_address) as proxy:
        with client(proxy) as connection:
            ask(connection, START)
            proxy.freeze()
        with client(proxy) as other:
            # New ones pass, and by the time that one has been served the end of the first would have been too.
            ask(other, START)
            assert server.ended == 0
        wait_until(lambda: server.ended == 1, "the second has ended")
        proxy.thaw()
        wait_until(lambda: server.ended == 2, "the end of the first is passed on")


def test_new_connections_may_be_half_open_too(server):
    with Proxy(server.server_address) as proxy:
        proxy.freeze(new=True)
        with client(proxy) as connection:
            connection.settimeout(0.1)
            with pytest.raises(TimeoutError):
                ask(connection, START)


def test_a_server_that_is_down_is_a_connection_that_ends():
    with Proxy("/nonexistent/socket") as proxy, client(proxy) as connection:
        with suppress(ConnectionError):
            assert ask(connection, START) == b""
        assert proxy.links() == []


def test_what_chance_drops_is_told_as_a_reset(server):
    weather = Weather(drop=1.0, every=0.02)
    with Proxy(server.server_address, weather=weather) as proxy, client(proxy) as connection:
        assert ask(connection, START) == READY
        with pytest.raises(ConnectionResetError):
            connection.recv(100)
        assert proxy.resets == 1


def test_all_are_reset_at_once(server):
    with Proxy(server.server_address) as proxy, client(proxy) as one, client(proxy) as two:
        ask(one, START)
        ask(two, START)
        assert proxy.reset_all() == 2
        for connection in (one, two):
            with pytest.raises(ConnectionResetError):
                connection.recv(100)
