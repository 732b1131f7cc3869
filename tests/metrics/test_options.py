"""--metrics-port and --metrics-address: what cannot be is said before anything has started."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from conveyor_django.metrics.server import served
from tests.support.databases import process_environment

pytestmark = pytest.mark.django_db(transaction=True)

COMMANDS = ("conveyor_worker", "conveyor_scheduler")
ABSENT = 'raise ModuleNotFoundError("No module named \'prometheus_client\'", name="prometheus_client")\n'


@pytest.mark.parametrize("command", COMMANDS)
def test_a_port_that_is_taken(command: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(CommandError, match=f"'127.0.0.1', port {port}: Address already in use.*--metrics-port"):
            call_command(command, metrics_port=port)


def test_at_the_end_nobody_listens_any_more() -> None:
    threads = set(threading.enumerate())
    with served(address="127.0.0.1", port=0) as port, pytest.raises(OSError, match="in use"):
        socket.create_server(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)):
        assert set(threading.enumerate()) == threads


@pytest.mark.parametrize("address", ["203.0.113.7", "no address"])
def test_an_address_that_is_not_this_machine_s(address: str) -> None:
    with pytest.raises(CommandError, match=f"cannot be served on '{address}', port 0: .*--metrics-address"):
        call_command("conveyor_worker", metrics_port=0, metrics_address=address)


@pytest.mark.parametrize("port", ["-1", "65536", "http", "²"])
def test_a_port_that_is_none(port: str) -> None:
    with pytest.raises(CommandError, match=f"must be a port from 0 to 65535, not '{port}'"):
        call_command("conveyor_worker", f"--metrics-port={port}")


@pytest.fixture
def without_the_extra(tmp_path: Path) -> dict[str, str]:
    """The environment of a process in which prometheus_client is not installed."""
    (tmp_path / "prometheus_client").mkdir()
    (tmp_path / "prometheus_client" / "__init__.py").write_text(ABSENT)
    return process_environment() | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}


USED = """
import sys, django
django.setup()
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError

call_command("conveyor_worker", "--once", "--no-scheduler")
call_command("conveyor_scheduler", "--once")
import conveyor_django.admin, conveyor_django.bulk, conveyor_django.worker.child
print("imported:", [name for name in sys.modules if name.startswith("conveyor_django.metrics")])
for command in ("conveyor_worker", "conveyor_scheduler"):
    try:
        call_command(command, "--metrics-port=0")
    except CommandError as error:
        print(f"{command}: {error}")
try:
    import conveyor_django.metrics.urls
except ImproperlyConfigured as error:
    print("urls:", error)
"""


def test_without_the_extra_all_else_works_and_metrics_say_how_to_get_it(without_the_extra: dict[str, str]) -> None:
    """What is not asked for is not imported either: here it could not be."""
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", USED],
        env=without_the_extra, capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    lines = ran.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["imported", *COMMANDS, "urls"], ran.stderr
    assert lines[0] == "imported: []"
    for line in lines[1:]:
        assert line.endswith("is not installed: pip install 'conveyor-django[metrics]'.")
