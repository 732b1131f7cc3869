"""A TCP proxy between workers and PostgreSQL, for networks that delay, lose, cut and go silent.

It runs on an event loop in a thread of its own; its methods may be called from any thread. The kernel that it runs on
acknowledges every segment, as a load balancer or a pooler does: TCP keepalives and user timeouts of a client see
nothing of what is wrong behind it.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Final, TypeVar
from urllib.parse import urlsplit

from .link import BOTH, Fate, Link, Side

T = TypeVar("T")

CHUNK: Final = 65536


@dataclass(frozen=True, slots=True, kw_only=True)
class Weather:
    """A network: `latency` in seconds each way; `drop`, the share of connections that is reset in `every` seconds."""

    latency: float = 0.0
    drop: float = 0.0
    every: float = 1.0


# Decides over a request, by its statements; runs on the proxy's loop.
Rule = Callable[[Link, list[str]], Awaitable[Fate]]


class Proxy:
    """Listens on a port of 127.0.0.1 and passes on to the server whose Unix socket is `upstream`.

    The seed decides what `weather` drops, and when. `rule` sees every request. Used as a context manager.
    """

    def __init__(
        self, upstream: str, *, weather: Weather | None = None, seed: int = 0, rule: Rule | None = None
    ) -> None:
        self.weather = weather or Weather()
        self.rule = rule
        self.resets = 0
        self.accepted = 0
        self._upstream = upstream
        self._seed = seed
        self._links: set[Link] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        # What becomes of connections that are made while the others are half open.
        self._frozen: frozenset[Side] = frozenset()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault-proxy", daemon=True)
        self._server: asyncio.Server
        self.port = 0

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._call(self._listen())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def url(self, direct: str) -> str:
        """Return the URL of the same database by way of this proxy."""
        parts = urlsplit(direct)
        user = f"{parts.username}@" if parts.username else ""
        return f"postgresql://{user}127.0.0.1:{self.port}{parts.path}?sslmode=disable&gssencmode=disable"

    # -- from other threads ---------------------------------------------------------------------------------

    def freeze(
        self, sides: Iterable[Side] = BOTH, *, which: Callable[[Link], bool] = lambda _link: True, new: bool = False
    ) -> int:
        """Make connections half open, with `new` also those still to come; return how many."""

        async def freeze() -> int:
            chosen = [link for link in self._links if which(link)]
            for link in chosen:
                link.freeze(sides)
            self._frozen = frozenset(sides) if new else frozenset()
            return len(chosen)

        return self._call(freeze())

    def thaw(self) -> None:
        """Let every connection go on."""

        async def thaw() -> None:
            self._frozen = frozenset()
            for link in self._links:
                link.thaw()

        self._call(thaw())

    def reset_all(self) -> int:
        """Reset every connection; return how many."""

        async def reset() -> int:
            chosen = list(self._links)
            for link in chosen:
                self._reset(link)
            return len(chosen)

        return self._call(reset())

    def links(self) -> list[Link]:
        """Return the open connections."""

        async def links() -> list[Link]:
            return sorted(self._links, key=lambda link: link.number)

        return self._call(links())

    def _call(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result(30)

    # -- on the loop ----------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _close(self) -> None:
        self._server.close()
        for link in list(self._links):
            link.thaw()
            link.reset()
        await asyncio.gather(*self._tasks)

    async def _serve(self, from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self.accepted += 1
        number = self.accepted
        try:
            from_server, to_server = await asyncio.open_unix_connection(self._upstream)
        except OSError:
            # The server is down: as if it had refused.
            to_client.transport.abort()
            return
        link = Link(number, to_client, to_server)
        link.freeze(self._frozen)
        self._links.add(link)
        parts = [
            self._carry_requests(link, from_client), self._carry_replies(link, from_server), self._drop(link),
        ]  # fmt: skip
        await self._until_all_end(link, parts)

    async def _until_all_end(self, link: Link, parts: list[Awaitable[None]]) -> None:
        *carriers, dropper = [asyncio.ensure_future(part) for part in parts]
        try:
            await asyncio.gather(*carriers)
        except (ConnectionError, OSError):
            # One side is gone, or we have cut it: so is the other.
            link.reset()
        finally:
            self._links.discard(link)
            for future in (*carriers, dropper):
                future.cancel()
            await asyncio.gather(*carriers, dropper, return_exceptions=True)
            link.reset()

    async def _carry_requests(self, link: Link, source: asyncio.StreamReader) -> None:
        while data := await source.read(CHUNK):
            fate = await self._fate(link, data)
            await asyncio.sleep(self.weather.latency)  # the fault itself: what passes is late
            if fate is Fate.LOSE_REQUEST:
                self._reset(link)
                return
            if fate is Fate.LOSE_REPLY:
                link.lose_reply()
            await link.send(Side.REQUESTS, data)
        await link.finish(Side.REQUESTS)

    async def _carry_replies(self, link: Link, source: asyncio.StreamReader) -> None:
        while data := await source.read(CHUNK):
            link.replies.feed(data)
            if link.has_lost:
                self._reset(link)
                return
            if link.is_losing:
                continue
            await asyncio.sleep(self.weather.latency)  # the fault itself, on the way back
            await link.send(Side.REPLIES, data)
        await link.finish(Side.REPLIES)

    async def _fate(self, link: Link, data: bytes) -> Fate:
        statements = link.requests.feed(data)
        if not statements:
            return Fate.PASS
        if link.doom is not None:
            return link.doom
        return Fate.PASS if self.rule is None else await self.rule(link, statements)

    async def _drop(self, link: Link) -> None:
        """Let chance drop the connection, now or then in its life: with a request, with a reply, or while it rests."""
        chance = random.Random(f"{self._seed}/{link.number}")  # noqa: S311 - the same for the same seed
        while True:
            await asyncio.sleep(chance.uniform(0.5, 1.5) * self.weather.every)  # chance strikes so often
            if chance.random() < self.weather.drop:
                link.doom = chance.choice([Fate.LOSE_REQUEST, Fate.LOSE_REPLY])
                await asyncio.sleep(self.weather.every)  # for the request or reply that is to go down with it
                self._reset(link)
                return

    def _reset(self, link: Link) -> None:
        self.resets += 1
        link.reset()
