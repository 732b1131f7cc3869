"""The options of commands that serve their numbers."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError

if TYPE_CHECKING:
    from ..metrics.collector import Source
    from ..scheduler.loop import SchedulerLoop
    from ..worker.supervisor import Supervisor

_MAX_PORT: Final = 65535


def add_metrics_options(parser: ArgumentParser) -> None:
    """Declare --metrics-port and --metrics-address."""
    parser.add_argument(
        "--metrics-port", type=_port, metavar="PORT",
        help="Serve metrics for Prometheus on this port (0: a free one, which the log tells). Needs "
        "conveyor-django[metrics].",
    )  # fmt: skip
    parser.add_argument(
        "--metrics-address", default="127.0.0.1", metavar="ADDRESS",
        help="The address for it (default %(default)s: this machine only; 0.0.0.0 or :: for every one).",
    )  # fmt: skip


@contextmanager
def metrics_served(
    given: dict[str, Any], *, alias: str, supervisor: Supervisor | None = None, scheduler: SchedulerLoop | None = None
) -> Iterator[None]:
    """Serve what the options ask for inside the block; nothing without --metrics-port.

    Raises CommandError where the extra is missing or the address is not to be had.
    """
    port, address = given["metrics_port"], given["metrics_address"]
    if port is None:
        yield
        return
    sources = list(_sources(alias, supervisor, scheduler))
    from ..metrics.server import served

    serving = served(*sources, address=address, port=port)
    try:
        serving.__enter__()
    except OSError as error:
        raise CommandError(
            f"Metrics cannot be served on {address!r}, port {port}: {error.strerror or error}. Choose another "
            f"--metrics-port, or an address of this machine for --metrics-address."
        ) from error
    try:
        yield
    finally:
        serving.__exit__(None, None, None)


def require_metrics(given: dict[str, Any]) -> None:
    """Raise CommandError where --metrics-port is given and the extra is missing."""
    if given["metrics_port"] is None:
        return
    try:
        from ..metrics import client  # noqa: F401 - whether it can be imported
    except ImproperlyConfigured as error:
        raise CommandError(f"--metrics-port: {error}") from error


def _sources(alias: str, supervisor: Supervisor | None, scheduler: SchedulerLoop | None) -> Iterator[Source]:
    from ..metrics.schedulers import scheduler_source
    from ..metrics.workers import worker_source

    if supervisor is not None:
        yield worker_source(supervisor, alias=alias)
    if scheduler is not None:
        yield scheduler_source(scheduler, alias=alias)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _MAX_PORT:
        raise ArgumentTypeError(f"must be a port from 0 to {_MAX_PORT}, not {text!r}")
    return int(text)
