"""The job queues that are compared: what to install of each, and its settings at each load.

An entrant is one of them with options, written NAME@option=value,option=value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

PSYCOPG: Final = "psycopg[binary,pool]==3.3.9"
DJANGO: Final = "django==6.1.3"
UVLOOP: Final = "uvloop==0.23.0"


@dataclass(frozen=True, kw_only=True)
class PeerInfo:
    """A job queue, as the runner sees it.

    `pending` is SQL for the number of jobs that are not durably complete; None: they are counted in Redis.
    `loads` has the options to take at each load: the best that were found, of those that the load allows.
    """

    name: str
    requirements: tuple[str, ...]
    pending: str | None = "SELECT 0"
    # The module in benchmarks.peers, and whose environment it runs in, where they are not named as the queue.
    module: str = ""
    environment: str = ""
    # One command starts all processes by itself.
    is_supervisor: bool = False
    needs_redis: bool = False
    is_reference: bool = False
    loads: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


# Loads at which a queue without settings of their own takes those for 32 in flight.
LIKE_32: Final = ("best", "idle", "effects")

_PENDING_JOBS: Final = "SELECT count(*) FROM conveyor_job WHERE state IN ('ready', 'running', 'scheduled', 'blocked')"
# What is ready stays in awa's tables after its end, until its slot is pruned.
_PENDING_AWA: Final = """
SELECT (SELECT count(*) FROM awa.ready_entries) - (SELECT count(*) FROM awa.done_entries)
     - (SELECT coalesce(sum(completed_count), 0) FROM awa.receipt_completion_batches)
"""
_TWO_BY_16: Final = "processes=2,concurrency=16"
_FOUR_BY_8: Final = "processes=4,concurrency=8"
_ONE_BY_32: Final = "processes=1,concurrency=32"

PEERS: Final[dict[str, PeerInfo]] = {
    peer.name: peer
    for peer in (
        PeerInfo(
            name="conveyor", requirements=(DJANGO, PSYCOPG, "croniter==7.0.0"), pending=_PENDING_JOBS,
            is_supervisor=True,
            loads={
                "4x8": (_FOUR_BY_8, _TWO_BY_16), "32": (_TWO_BY_16,),
                "1000": ("processes=2,concurrency=500", "processes=2,concurrency=500,handler=async"),
                "best": ("processes=2,concurrency=100", "processes=2,concurrency=200", "processes=2,concurrency=400"),
            },
        ),
        PeerInfo(
            name="procrastinate", requirements=("procrastinate==3.10.0", PSYCOPG),
            pending="SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",
            loads={"4x8": (_FOUR_BY_8, _TWO_BY_16), "32": (_TWO_BY_16,), "1000": ("processes=2,concurrency=500",)},
        ),
        PeerInfo(
            # It wants room for twice as many jobs in flight as it takes at once.
            name="pgqueuer", requirements=("pgqueuer[asyncpg]==1.6.0", UVLOOP, PSYCOPG),
            pending="SELECT count(*) FROM pgqueuer",
            loads={
                "4x8": ("processes=4,batch=4,in_flight=8", "processes=1,batch=16,in_flight=32"),
                "32": ("processes=1,batch=16,in_flight=32",), "1000": ("processes=1,batch=500,in_flight=1000",),
                "best": ("processes=1,batch=100", "processes=2,batch=100"),
            },
        ),
        PeerInfo(
            name="oban", requirements=("oban==0.7.0", UVLOOP, PSYCOPG),
            pending="SELECT count(*) FROM oban_jobs WHERE state <> 'completed'",
            loads={
                "4x8": (_FOUR_BY_8, _ONE_BY_32), "32": (_ONE_BY_32,), "1000": ("processes=2,concurrency=500",),
                "best": ("processes=2,concurrency=100",),
            },
        ),
        PeerInfo(
            name="django-tasks-db", module="django_tasks_db",
            requirements=("django-tasks-db==0.13.0", DJANGO, PSYCOPG),
            pending="SELECT count(*) FROM django_tasks_database_dbtaskresult WHERE status IN ('READY', 'RUNNING')",
            # One job at a time in a process, and more processes than cores are slower.
            loads={"4x8": ("processes=2",), "32": ("processes=2", "processes=2,analyze=1"), "idle": (
                "processes=2", "processes=2,interval=0.02")},
        ),
        PeerInfo(
            name="django-ox", module="django_ox", requirements=("django-ox==1.9.1", DJANGO, PSYCOPG),
            pending="SELECT count(*) FROM django_ox_oxtask WHERE status IN ('READY', 'RUNNING')",
            loads={
                "4x8": (_FOUR_BY_8, _TWO_BY_16), "32": (_TWO_BY_16, f"{_TWO_BY_16},analyze=1"),
                "1000": ("processes=2,concurrency=500",), "idle": (_TWO_BY_16, f"{_TWO_BY_16},interval=0.02"),
            },
        ),
        PeerInfo(
            name="awa", requirements=("awa-pg==0.6.9", PSYCOPG), pending=_PENDING_AWA,
            loads={
                "4x8": (_FOUR_BY_8, _ONE_BY_32), "32": (_ONE_BY_32, f"{_ONE_BY_32},analyze=1"),
                "1000": ("processes=1,concurrency=1000",), "best": ("processes=1,concurrency=1000,analyze=1",),
                "idle": (_ONE_BY_32,),
            },
        ),
        PeerInfo(
            name="celery", requirements=("celery[redis]==5.7.0", PSYCOPG), pending=None, is_supervisor=True,
            needs_redis=True, loads={"4x8": ("processes=4", "processes=2"), "32": ("processes=2",)},
        ),
        PeerInfo(
            name="ceiling", requirements=(), environment="conveyor", pending=_PENDING_JOBS, is_reference=True,
            loads={
                "4x8": ("processes=4,batch=8", "processes=2,batch=16"),
                "32": ("processes=2,batch=16",),
                "1000": ("processes=2,batch=500",), "best": ("processes=2,batch=100", "processes=2,batch=200"),
            },
        ),
        PeerInfo(name="bare", requirements=(), environment="conveyor", is_reference=True),
    )
}  # fmt: skip


@dataclass(frozen=True)
class Entrant:
    """A job queue with its options, in a comparison."""

    peer: PeerInfo
    options: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The entrant as it is written on the command line."""
        options = ",".join(f"{name}={value}" for name, value in self.options.items())
        return f"{self.peer.name}@{options}" if options else self.peer.name

    @property
    def commands(self) -> int:
        """How many worker commands are started, for each database."""
        return 1 if self.peer.is_supervisor else self._processes

    @property
    def databases(self) -> int:
        """How many databases it has."""
        return int(self.options.get("databases", 1))

    @property
    def processes(self) -> int:
        """How many processes run handlers, over all databases."""
        return self._processes * self.databases

    @property
    def _processes(self) -> int:
        return int(self.options.get("processes", 1))


def parse(text: str) -> Entrant:
    """Return the entrant that `text` names. Raises ValueError for an unknown queue or what is no option."""
    name, _, rest = text.partition("@")
    if name not in PEERS:
        raise ValueError(f"{name!r} is no job queue here; there are {', '.join(PEERS)}")
    return Entrant(PEERS[name], dict(map(_option, filter(None, rest.split(",")))))


def entrants_for(peer: PeerInfo, load: str) -> list[Entrant]:
    """Return the queue with each of its settings for that load; none where it cannot bear it."""
    settings = peer.loads.get(load, ())
    if not settings and load in LIKE_32 and not peer.is_reference:
        settings = peer.loads["32"]
    return [parse(f"{peer.name}@{options}") for options in settings]


def _option(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(f"{text!r} is no option: write name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
