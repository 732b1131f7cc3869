"""A real server in a process of its own, asked by urllib and by curl over real sockets."""

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
from django.db import connections

from conveyor_django.models import Job
from conveyor_django.operate.tokens import create_token

from ..support.barriers import at_once
from ..support.databases import process_environment
from ..support.waits import wait_until
from .client import Api

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]
SETTLE = "testproject.shop.tasks.settle_order"
CALL = {"task": SETTLE, "args": ["A-17", "ada", 1250]}


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the API of the test project's server, on the test database."""
    log = tmp_path_factory.mktemp("server") / "log"
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


def test_there_and_back(server: str, token: str) -> None:
    status, made = send(f"{server}/jobs", token, CALL, **{"Idempotency-Key": "A-17"})
    assert (status, made["created"]) == (201, True)
    # What the other process has stored is this one's too.
    assert f"default:{Job.objects.get().pk}" == made["id"]
    status, seen = send(f"{server}/jobs/{made['id']}", token)
    assert (status, seen["task"], seen["state"], seen["inspection"]) == (200, SETTLE, "ready", None)
    assert send(f"{server}/jobs", token, CALL, **{"Idempotency-Key": "A-17"})[0] == 200
    assert send(f"{server}/jobs/{made['id']}/cancel", token, {})[0] == 403
    assert send(f"{server}/nothing", token)[1]["code"] == "not-found"
    assert send(f"{server}/jobs", "forged")[0] == 401


def test_one_key_in_two_processes_at_once_is_one_job(server: str, token: str) -> None:
    def there() -> tuple[int, dict[str, Any]]:
        return send(f"{server}/jobs", token, CALL, **{"Idempotency-Key": "k"})

    def here() -> tuple[int, dict[str, Any]]:
        try:
            response = Api(token).post("/jobs", CALL, **{"Idempotency-Key": "k"})
            return response.status_code, json.loads(response.content)
        finally:
            connections["default"].close()

    answers = at_once(*[there, here] * 3)
    assert Counter(status for status, _ in answers) == {201: 1, 200: 5}
    assert len({body["id"] for _, body in answers}) == Job.objects.count() == 1


def test_the_page_s_commands_do_what_it_says(server: str, token: str) -> None:
    if shutil.which("curl") is None:
        pytest.skip("there is no curl here")
    [commands] = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "docs/http-api.md").read_text(), re.MULTILINE | re.DOTALL)
    environment = {"API": server, "TOKEN": token, "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["sh", "-ec", commands], env=environment, capture_output=True, text=True, check=False)
    first, second, listed = map(json.loads, ran.stdout.splitlines())
    assert (first["created"], second["created"]) == (True, False)
    assert [job["id"] for job in listed["jobs"]] == [first["id"]] == [second["id"]]


def test_ten_megabytes_by_curl_and_head(server: str, token: str, tmp_path: Path) -> None:
    curl = shutil.which("curl")
    if curl is None:
        pytest.skip("there is no curl here")
    (tmp_path / "body").write_text(json.dumps(CALL | {"args": ["x" * 10_000_000]}))
    common = [curl, "--silent", "--max-time", "30", "-H", f"Authorization: Bearer {token}"]
    posted = subprocess.run(
        [
            *common, "-H", "Content-Type: application/json", "--data-binary", f"@{tmp_path}/body", "-o", "/dev/null",
            "-w", "%{http_code}", f"{server}/jobs",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert posted.stdout == "413"
    head = subprocess.run([*common, "--head", f"{server}/jobs"], capture_output=True, text=True, check=False)
    assert re.match(r"HTTP/1\.[01] 200 ", head.stdout), head.stdout
    assert not Job.objects.exists()
