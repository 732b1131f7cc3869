"""The demo from its first to its last line."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from ..orders import PATH, Order, read_orders
from ..visit import login
from . import report, store
from .faults import Freeze, Kill
from .programs import Program, ProgramFailed
from .screen import Screen

PROCESSES: Final = 4
CONCURRENCY: Final = 8
LOOK_SECONDS: Final = 0.03
# The faults are spread: the kill waits until this part of the orders is done.
KILL_AFTER: Final = 0.2
# Between the enqueue's begin and the first wave.
OPENING_SECONDS: Final = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the demo can be told; times in seconds."""

    lease: float = 2.0
    # Over which time the orders fall due: longer than a lease, so that the thawed child finds work going on.
    seconds: float = 5.0
    timeout: float = 60.0
    logs: Path


@dataclass(frozen=True, slots=True)
class Shown:
    """What the run itself showed, besides what the database holds at its end."""

    new_rows: int
    refused: int
    killed: int
    frozen: int


def run_demo(screen: Screen, options: Options) -> None:
    """Run the demo. Raises CommandError if it did not show what it should."""
    call_command("migrate", verbosity=0, interactive=False)
    store.empty_tables()
    screen.say(f"PostgreSQL {_server_version()}, database {connection.settings_dict['NAME']!r}, migrated.")
    orders = read_orders()
    accounts = store.open_accounts(orders)
    screen.say(f"{PATH.name}: {len(orders)} orders of {accounts} customers.")
    try:
        shown = _work(screen, options, orders)
    except ProgramFailed as error:
        raise CommandError(str(error)) from error
    except KeyboardInterrupt:
        raise CommandError("Interrupted; the scheduler and the worker are ended.", returncode=130) from None
    finally:
        screen.close()
    _tell(screen, options, orders, shown)
    _invite(screen)


def _work(screen: Screen, options: Options, orders: list[Order]) -> Shown:
    """Run scheduler and worker over the orders, with the faults; return what was seen."""
    with ExitStack() as stack:
        scheduler, worker = _start(stack, options)
        screen.say(f"Scheduler and worker run: {PROCESSES} processes × {CONCURRENCY}, lease {options.lease:g} s.")
        again = _enqueue_twice(screen, options, orders)
        freeze, kill = Freeze(worker.log, screen), Kill(worker.log, screen)
        stack.callback(freeze.thaw)

        def over() -> bool:
            view = store.look(worker.pid)
            freeze.step(view)
            if view.ended >= KILL_AFTER * view.jobs:
                kill.step(view, spared=freeze.victim)
            screen.progress(view.ended, view.jobs, f"{sum(view.running.values())} in work")
            return again.done() and view.ended == view.jobs and freeze.is_over and kill.is_over

        _wait_until(over, "the orders to be settled", [scheduler, worker], timeout=options.timeout)
        new_rows = again.result()
        screen.say(f"All orders were enqueued again meanwhile, with the same keys: {new_rows} new rows.")
        worker.stop()
        scheduler.stop()
        view = store.look(worker.pid)
        refused = sum(totals.get("refused", 0) for totals in worker.log.events("worker.totals"))
        return Shown(new_rows, refused, kill.leases_lost(view), freeze.leases_lost(view))


def _start(stack: ExitStack, options: Options) -> tuple[Program, Program]:
    """Start the scheduler and the worker, and wait until every child of the worker is there."""
    options.logs.mkdir(parents=True, exist_ok=True)
    environ = {"CONVEYOR_LEASE_SECONDS": str(options.lease)}
    scheduler = Program("conveyor_scheduler", log=options.logs / "scheduler.log", environ=environ)
    stack.enter_context(scheduler)
    worker = Program(
        "conveyor_worker", "--queues", "orders", "--processes", str(PROCESSES), "--concurrency", str(CONCURRENCY),
        "--grace", "5", log=options.logs / "worker.log", environ=environ,
    )  # fmt: skip
    stack.enter_context(worker)
    _wait_until(
        lambda: len(store.look(worker.pid).children) == PROCESSES,
        "the worker to start", [scheduler, worker], timeout=options.timeout,
    )  # fmt: skip
    return scheduler, worker


def _enqueue_twice(screen: Screen, options: Options, orders: list[Order]) -> Future[int]:
    """Enqueue every order, then all again in the background; return how many rows that will have made."""
    opening = store.database_time() + dt.timedelta(seconds=OPENING_SECONDS)

    def enqueue() -> int:
        try:
            return store.enqueue_orders(orders, opening=opening, seconds=options.seconds)
        finally:
            connection.close()

    first = enqueue()
    screen.say(f"Enqueued a job per order: {first} new rows, due over {options.seconds:g} s.")
    return ThreadPoolExecutor(1).submit(enqueue)


def _wait_until(condition: Callable[[], bool], what: str, programs: list[Program], *, timeout: float) -> None:
    """Look again and again until `condition` holds. Raises ProgramFailed if a program ends or time is up."""
    deadline = time.monotonic() + timeout
    while not condition():
        for program in programs:
            program.require_running()
        if time.monotonic() > deadline:
            logs = ", ".join(str(program.log) for program in programs)
            raise ProgramFailed(
                f"Waited {timeout:g} s for {what} (jobs not done: {report.waiting_jobs()}); see {logs}."
            )
        time.sleep(LOOK_SECONDS)


def _tell(screen: Screen, options: Options, orders: list[Order], shown: Shown) -> None:
    """Show the table and the verdict. Raises CommandError for a bad one."""
    figures = report.measure(orders)
    expected = sum(order.cents for order in orders)
    screen.say()
    for line in report.table(
        figures, expected=expected, refused=shown.refused, killed=shown.killed, frozen=shown.frozen
    ):
        screen.say(line)
    screen.say()
    problems = list(
        report.judge(
            figures, orders=orders, new_rows=shown.new_rows, refused=shown.refused,
            killed=shown.killed, frozen=shown.frozen,
        )
    )  # fmt: skip
    if problems:
        raise CommandError("\n  ".join(["Not as it should be:", *problems, f"Logs: {options.logs}"]))
    screen.say("Every job succeeded, every effect is there exactly once, and the faults did cost leases.")


def _invite(screen: Screen) -> None:
    """Say how to look around."""
    screen.say()
    run = "make run" if Path(sys.prefix).name == ".venv" else "python -m testproject runserver"
    screen.say(f"To look around: {run}, then http://localhost:8000/admin/ {login()}.")


def _server_version() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        row: tuple[str] = cursor.fetchone()
    return row[0]
