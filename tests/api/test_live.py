"""Real servers in processes of their own, asked by urllib and by curl over real sockets."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conveyor_django.models import Job
from conveyor_django.operate.tokens import create_token

from ..support.barriers import at_once
from ..support.databases import process_environment
from ..support.waits import wait_until

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
SETTLE = "testproject.shop.tasks.settle_order"
CALL = {"task": SETTLE, "args": ["A-17", "ada", 1250]}


@contextlib.contextmanager
def server(log: Path) -> Iterator[str]:
    """Run the test project's server on the test database; give its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "testproject", "runserver", "--noreload", f"127.0.0.1:{port}"]
    with log.open("w") as output:
        process = subprocess.Popen(command, env=process_environment(), stdout=output, stderr=output)
        try:
            wait_until(lambda: process.poll() is not None or _answers(port), "the server answers", patience=60)
            assert process.poll() is None, log.read_text()
            yield f"http://127.0.0.1:{port}/conveyor"
        finally:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


@pytest.fixture(scope="module")
def servers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    folder = tmp_path_factory.mktemp("servers")
    with server(folder / "one") as one, server(folder / "two") as two:
        yield [one, two]


@pytest.fixture
def token() -> str:
    return create_token("test", queues=["orders"], verbs=["enqueue", "read"])[1]


def send(url: str, token: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
    """Send a request by urllib; return the status and the answer."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"} | headers
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - our own server
    try:
        with urllib.request.urlopen(request, timeout=30) as response:  # noqa: S310
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def test_there_and_back(servers: list[str], token: str) -> None:
    status, made = send(f"{servers[0]}/jobs", token, CALL, **{"Idempotency-Key": "A-17"})
    assert (status, made["created"]) == (201, True)
    # From the other process.
    status, seen = send(f"{servers[1]}/jobs/{made['id']}", token)
    assert (status, seen["task"], seen["state"], seen["inspection"]) == (200, SETTLE, "ready", None)
    assert send(f"{servers[1]}/jobs", token, CALL, **{"Idempotency-Key": "A-17"})[0] == 200
    assert send(f"{servers[1]}/jobs/{made['id']}/cancel", token, {})[0] == 403
    assert send(f"{servers[1]}/nothing", token)[1]["code"] == "not-found"
    assert send(f"{servers[1]}/jobs", "forged")[0] == 401


def test_one_key_in_two_processes_at_once_is_one_job(servers: list[str], token: str) -> None:
    def call(place: int) -> Any:
        return lambda: send(f"{servers[place % 2]}/jobs", token, CALL, **{"Idempotency-Key": "k"})

    answers = at_once(*map(call, range(6)))
    assert Counter(status for status, _ in answers) == {201: 1, 200: 5}
    assert len({body["id"] for _, body in answers}) == Job.objects.count() == 1


def test_ten_megabytes_by_curl_and_head(servers: list[str], token: str, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl here")
    (tmp_path / "body").write_text(json.dumps(CALL | {"args": ["x" * 10_000_000]}))
    common = [curl, "--silent", "--max-time", "30", "-H", f"Authorization: Bearer {token}"]
    posted = subprocess.run(
        [
            *common, "-H", "Content-Type: application/json", "--data-binary", f"@{tmp_path / 'body'}", "-o", "/dev/null",
            "-w", "%{http_code}", f"{servers[0]}/jobs",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert posted.stdout == "413"
    head = subprocess.run([*common, "--head", f"{servers[0]}/jobs"], capture_output=True, text=True, check=False)
    assert re.match(r"HTTP/1\.[01] 200 ", head.stdout), head.stdout
    assert not Job.objects.exists()
