"""Faults of the network between the processes and PostgreSQL, by way of the proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from ..link import Fate, Link, Side
from ..proxy import Proxy, Weather
from ..stage import Stage
from ..variables import TIMEOUT
from .base import Scenario

FAR: Final = Weather(latency=0.03)
# Share of the replies.
LOST: Final = 0.2
BAD: Final = Weather(latency=0.03, drop=0.05)
# A handler that waits in the driver for a reply that never comes ends by its timeout, or never.
IMPATIENT: Final[dict[str, str]] = {TIMEOUT: "10", "CONVEYOR_TIMEOUT_GRACE_SECONDS": "1"}

# What a project's own processes do about their connections is theirs: these stay out of it.
PRODUCER: Final = "producer"


class Network:
    """A proxy that everything of a run goes through, and what happens to it."""

    def __init__(self, strike: Callable[[Stage, Proxy], None], *, weather: Weather | None = None) -> None:
        self._strike = strike
        self._weather = weather
        self._proxy: Proxy

    @contextmanager
    def around(self, stage: Stage) -> Iterator[None]:
        """Put the proxy between."""
        with Proxy(stage.server.socket, weather=self._weather, seed=stage.seed) as self._proxy:
            stage.environment["DATABASE_URL"] = self._proxy.url(stage.server.url)
            yield

    def strike(self, stage: Stage) -> None:
        """Inject the fault."""
        self._strike(stage, self._proxy)


def through_proxy(
    name: str, what: str, strike: Callable[[Stage, Proxy], None], *, weather: Weather | None = None
) -> Scenario:
    """Return the scenario of a network with that fault."""
    network = Network(strike, weather=weather)
    return Scenario(
        name=name, what=what, strike=network.strike, around=network.around, environment=IMPATIENT,
        producer={"PGAPPNAME": PRODUCER},
    )  # fmt: skip


def drop(stage: Stage, proxy: Proxy) -> None:
    """Drop connections until every job has begun."""
    stage.wait_begun(0.1)
    with stage.fault("5% of connections dropped in each second"):
        proxy.weather = BAD
        stage.wait_begun(1.0)
        proxy.weather = FAR
    assert proxy.resets > 0, "no connection was dropped"


def half_open(stage: Stage, proxy: Proxy) -> None:
    """Let every connection go silent for good; new ones are as before."""
    stage.wait_begun(0.2, 0.4)
    with stage.fault("every connection is half open"), _given_up(stage, "pump", "heartbeat"):
        assert proxy.freeze(which=_of_workers) > 0


def deaf(stage: Stage, proxy: Proxy) -> None:
    """Let the server hear everybody, and nobody hear the server."""
    stage.wait_begun(0.2, 0.4)
    with stage.fault("no reply passes on the connections of that moment"), _given_up(stage, "pump", "heartbeat"):
        assert proxy.freeze([Side.REPLIES], which=_of_workers) > 0


def silent_heartbeats(stage: Stage, proxy: Proxy) -> None:
    """Let the heartbeats' connections go silent, and no other."""
    stage.wait_begun(0.2, 0.4)
    with stage.fault("the heartbeats' connections are half open"), _given_up(stage, "heartbeat"):
        assert proxy.freeze(which=lambda link: link.requests.application_name.endswith(" heartbeat")) > 0


def _of_workers(link: Link) -> bool:
    return link.requests.application_name != PRODUCER


@contextmanager
def _given_up(stage: Stage, *loops: str) -> Iterator[None]:
    """Wait, behind the block, until these loops of the children of before it have given their connections up.

    A child whose handlers wait for a silent connection may have ended instead.
    """
    [worker] = stage.fleet.workers
    children = stage.fleet.children()
    yield

    def has_given_up(child: int) -> bool:
        logged = all(worker.log("database.unavailable", loop=loop, process=child) for loop in loops)
        return logged or child not in worker.child_pids()

    stage.wait(lambda: all(map(has_given_up, children)), "its loops have given their connections up")


def lose_replies(stage: Stage, proxy: Proxy) -> None:
    """Lose a fifth of the replies to a commit, and to what commits by itself: the client cannot know."""

    async def lose(_link: Link, statements: list[str]) -> Fate:
        # By chance: every fifth in turn could be the same statement of a loop, for ever.
        is_lost = any(map(_commits, statements)) and stage.chance.random() < LOST
        return Fate.LOSE_REPLY if is_lost else Fate.PASS

    stage.wait_begun(0.1)
    with stage.fault("a fifth of the replies to commits is lost"):
        proxy.rule = lose
        stage.wait_begun(1.0)
        proxy.rule = None
    assert proxy.resets > 0, "no reply was lost"


def _commits(text: str) -> bool:
    head = text.lstrip().upper()
    return head.startswith(("COMMIT", "--"))


SCENARIOS = [
    through_proxy("drops", "5% of connections dropped in each second, at 30 ms latency", drop, weather=FAR),
    through_proxy("half-open", "connections that nothing passes any more, and that nobody closes", half_open),
    through_proxy("deaf", "the server hears, and is not heard", deaf),
    through_proxy("silent-heartbeats", "half-open connections of the heartbeats alone", silent_heartbeats),
    through_proxy("replies-lost", "a fifth of the commits succeeds without its client knowing", lose_replies),
]
