"""One connection through the proxy: what passes, what is kept back, and how it ends."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterable
from enum import Enum
from typing import Final

from .wire import Replies, Requests


class Side(Enum):
    """One of the two directions of a connection."""

    REQUESTS = "requests"
    REPLIES = "replies"


BOTH: Final = frozenset(Side)


class Fate(Enum):
    """What becomes of a request."""

    PASS = "pass"  # noqa: S105 - no password
    # The connection is reset before the server has seen the request.
    LOSE_REQUEST = "lose request"
    # The server carries it out, and the connection is reset in place of the reply: the client cannot know.
    LOSE_REPLY = "lose reply"


class Link:
    """One client's connection, and the one to the server that belongs to it."""

    def __init__(self, number: int, client: asyncio.StreamWriter, server: asyncio.StreamWriter) -> None:
        self.number = number
        self.requests = Requests()
        self.replies = Replies()
        # What a dropped connection takes with it.
        self.doom: Fate | None = None
        self._writers = {Side.REQUESTS: server, Side.REPLIES: client}
        self._flows = {side: asyncio.Event() for side in Side}
        self.thaw()
        # The reply after so many is lost.
        self._cut_at: int | None = None

    def freeze(self, sides: Iterable[Side] = BOTH) -> None:
        """Let nothing through any more, the end of the connection included, and close nothing: half open."""
        for side in sides:
            self._flows[side].clear()

    def thaw(self) -> None:
        """Let everything through again."""
        for flow in self._flows.values():
            flow.set()

    async def send(self, side: Side, data: bytes) -> None:
        """Pass bytes on, once that direction flows."""
        await self._flows[side].wait()
        self._writers[side].write(data)
        await self._writers[side].drain()

    async def finish(self, side: Side) -> None:
        """Pass the end of a direction on, once it flows."""
        await self._flows[side].wait()
        self._writers[side].close()

    def lose_reply(self) -> None:
        """Reset the connection in place of the next whole reply."""
        self._cut_at = self.replies.answered + 1

    @property
    def is_losing(self) -> bool:
        """Whether replies are kept back, since one is to be lost."""
        return self._cut_at is not None

    @property
    def has_lost(self) -> bool:
        """Whether the reply that is to be lost has come."""
        return self._cut_at is not None and self.replies.answered >= self._cut_at

    def reset(self) -> None:
        """End both connections at once; the client reads "connection reset by peer"."""
        client = self._writers[Side.REPLIES].get_extra_info("socket")
        if client is not None and client.fileno() >= 0:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        for writer in self._writers.values():
            writer.transport.abort()
