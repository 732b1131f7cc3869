"""Measure job queues beside each other, in alternating rounds, on one machine and one PostgreSQL.

    python -m benchmarks.run --list
    python -m benchmarks.run --quick --workloads noop-500 steady --peers conveyor pgqueuer
    python -m benchmarks.run --workloads noop-500 noop-32 --peers conveyor pgqueuer --rounds 5
    python -m benchmarks.run --workloads backlog --size backlog=10000000 --cap 120

A round runs every entrant of every workload once, each in a fresh database; the next round does so again, and another
one begins. The results are written after each run, so what was measured is kept when it is stopped.
"""

from __future__ import annotations

import argparse
import datetime as dt
import fcntl
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import psutil

from .catalog import PEERS, Entrant
from .environments import Environments, NotInstallable, default_python
from .redis import PROGRAM, Redis
from .server import Server
from .sizes import QUICK, Sizes
from .stage import ROOT, Stage
from .workloads import workloads
from .workloads.base import Workload

RESULTS: Final = ROOT / "results"


def main() -> int:
    """Run what the command line says; exit code 1 if a run failed, or lost or doubled a job of Conveyor."""
    arguments = _arguments()
    sizes = (QUICK if arguments.quick else Sizes()).but(arguments.size)
    chosen = _chosen(arguments)
    if arguments.list:
        _list(chosen, arguments.peers, sizes)
        return 0
    # So that the server and the workers are stopped then, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    folder = arguments.folder.resolve()
    environments = Environments(folder / "environments", arguments.python)
    with alone(folder), Server(folder / "postgresql") as server, Redis() as redis:
        session = Session(server, environments, redis, folder, arguments.cap, sizes)
        missing = session.install(arguments.peers)
        results = Results(arguments.out, _about(session, chosen, arguments, missing))
        names = [name for name in arguments.peers if name not in missing]
        for number in range(arguments.rounds):
            for workload in chosen:
                for entrant in in_turn(workload.takes(names, sizes), number):
                    results.add({"round": number, **session.run(workload, entrant)})
    print(f"written: {arguments.out}")
    return 1 if any(is_wrong(run) for run in results.runs) else 0


def is_wrong(run: dict[str, Any]) -> bool:
    """Say whether a run failed, or Conveyor lost or doubled a job in it."""
    return "error" in run or (run["peer"] == "conveyor" and bool(run.get("lost") or run.get("doubled")))


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Keep the folder for this run. Raises SystemExit if another has it: each would remove the other's data."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run uses {folder}: wait for it, or give --folder") from None
        yield


def in_turn(entrants: Sequence[Entrant], number: int) -> list[Entrant]:
    """Return the entrants in the order of a round: each begins one in turn, so that none always comes first."""
    first = number % len(entrants) if entrants else 0
    return [*entrants[first:], *entrants[:first]]


@dataclass
class Session:
    """What all runs share."""

    server: Server
    environments: Environments
    redis: Redis
    folder: Path
    cap: float
    sizes: Sizes
    versions: dict[str, dict[str, str]] = field(default_factory=dict)

    def install(self, names: Sequence[str]) -> dict[str, str]:
        """Make the queues' environments; return {name: reason} of those that cannot take part."""
        missing = {}
        for name in names:
            peer = PEERS[name]
            if peer.needs_redis and not self.redis.is_there:
                missing[name] = f"{PROGRAM} is not installed"
                continue
            try:
                self.versions[name] = self.environments.versions(peer)
            except NotInstallable as error:
                missing[name] = str(error)
        for name, reason in missing.items():
            print(f"{name} does not take part: {reason}", flush=True)
        return missing

    def run(self, workload: Workload, entrant: Entrant) -> dict[str, Any]:
        """Run one entrant once; what goes wrong with it ends the run, not the comparison."""
        head = {
            "workload": workload.name, "entrant": entrant.label, "peer": entrant.peer.name,
            "options": dict(entrant.options), "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "load_before": round(os.getloadavg()[0], 2),
        }  # fmt: skip
        stage = Stage(
            self.server, self.environments, self.folder, entrant,
            redis=self.redis, cap=self.cap, pad=workload.pad, keys=workload.keys, retention=self.sizes.retention,
        )  # fmt: skip
        begin = time.monotonic()
        try:
            figures = workload.measure(stage, self.sizes)
        except Exception as error:  # noqa: BLE001 - it is reported as what came of this run
            figures = {"error": f"{type(error).__name__}: {error}"[:500]}
        return {**head, "seconds": round(time.monotonic() - begin, 1), **figures}


class Results:
    """The file of all runs, and what they were measured on."""

    def __init__(self, path: Path, about: dict[str, Any]) -> None:
        self.runs: list[dict[str, Any]] = []
        self._path = path
        self._about = about

    def add(self, run: dict[str, Any]) -> None:
        """Print a run and write the file anew."""
        self.runs.append(run)
        shown = {name: value for name, value in run.items() if name not in {"options", "peer", "at", "minutes"}}
        print(json.dumps(shown), flush=True)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._about | {"runs": self.runs}, indent=1) + "\n", "utf-8")


def _about(
    session: Session, chosen: Sequence[Workload], arguments: argparse.Namespace, missing: dict[str, str]
) -> dict[str, Any]:
    """Return the machine, the server, the versions and the settings."""
    head = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {
        "began": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": head.stdout.strip(),
        "machine": {
            "cpus": os.cpu_count(), "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
            "system": platform.platform(), "runner_python": platform.python_version(),
        },
        "server": session.server.describe(),
        "redis": session.redis.version,
        "rounds": arguments.rounds,
        "cap_seconds": arguments.cap,
        "sizes": asdict(session.sizes),
        "titles": {workload.name: workload.titled(session.sizes) for workload in chosen},
        # The Python of each queue's handlers is among its versions.
        "versions": session.versions,
        "missing": missing,
    }  # fmt: skip


def _chosen(arguments: argparse.Namespace) -> list[Workload]:
    """Return the workloads asked for, by name; else the short ones, or all but those of minutes, or all."""
    every = workloads()
    if arguments.workloads:
        return [every[name] for name in arguments.workloads]
    if arguments.short:
        return [workload for workload in every.values() if workload.is_short]
    return [workload for workload in every.values() if arguments.long or not workload.is_long]


def _list(chosen: Sequence[Workload], names: list[str], sizes: Sizes) -> None:
    for workload in chosen:
        print(f"{workload.name}: {workload.titled(sizes)}")
        for entrant in workload.takes(names, sizes):
            print(f"    {entrant.label}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--peers", nargs="+", choices=list(PEERS), default=list(PEERS), metavar="NAME", help=", ".join(PEERS))
    add("--workloads", nargs="+", choices=list(workloads()), metavar="NAME", help=", ".join(workloads()))
    add("--short", action="store_true", help="without --workloads: those of some seconds")
    add("--long", action="store_true", help="without --workloads: those of minutes, too")
    add("--rounds", type=int, default=5)
    add("--quick", action="store_true", help="a trial of everything at small sizes: its figures say nothing")
    add("--size", nargs="+", default=[], metavar="NAME=NUMBER", help="see benchmarks/sizes.py: minute=10, …")
    add("--cap", type=float, default=30.0, help="seconds after which a run is cut (default %(default)s)")
    add("--out", type=Path, help="default: results/benchmarks-here.json; of a trial .benchmarks/trial.json")
    add("--folder", type=Path, default=ROOT / ".benchmarks", help="for environments and data; default: .benchmarks")
    add("--python", default=default_python(), help="the interpreter of the environments (default %(default)s)")
    add("--list", action="store_true", help="say what would be run, and with whom")
    arguments = parser.parse_args()
    arguments.out = arguments.out or (
        # A trial's figures are not kept beside those that say something.
        arguments.folder / "trial.json" if arguments.quick else RESULTS / "benchmarks-here.json"
    )
    return arguments


if __name__ == "__main__":
    sys.exit(main())
