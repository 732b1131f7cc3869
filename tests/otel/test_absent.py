"""Without OpenTelemetry, or where the project has not set it up: nothing of it is imported, and all else works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from conveyor_django.models import Attempt, Job, Ledger

from ..support.bench import delete_jobs
from ..support.connections import Connect
from ..support.databases import process_environment

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = Path(__file__).resolve().parents[2]

REFUSE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""

STORY = """
import asyncio, logging, sys
import django
django.setup()
logging.basicConfig(level=logging.INFO)

from conveyor_django import InvalidArguments, aenqueue_many, workflow
from conveyor_django.testing import drain
from conveyor_django.tracecontext import read, trace_context
from tests.otel.absent_tasks import later, settle

given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
settle.enqueue(1)
with trace_context(given, "vendor=1"):
    settle.enqueue(2)
    asyncio.run(aenqueue_many([later.bind(3)]))
    with workflow("four") as wf:
        wf.add(later, 4)
later.enqueue(5)
try:
    with trace_context("00-nonsense"):
        settle.enqueue(6)
except InvalidArguments as error:
    print(error)
assert read("00-nonsense") is None
print([result.status for result in drain()])
print([name for name in sys.modules if name.partition(".")[0] == "opentelemetry"])
"""


@pytest.fixture(autouse=True)
def _deleted(connect: Connect) -> object:
    yield
    delete_jobs(connect())


@pytest.mark.parametrize("before", [REFUSE, ""], ids=["not installed", "not imported by the project"])
def test_nothing_of_it_is_imported_and_a_given_context_is_stored(before: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", before + STORY],
        cwd=ROOT, env=process_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    refused, statuses, imported = ran.stdout.splitlines()
    assert refused.startswith("traceparent '00-nonsense' is not W3C's version-traceid-parentid-flags")
    assert statuses.count("SUCCESSFUL") == 5
    assert imported == "[]"
    given = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    payloads = [job.payload for job in Job.objects.order_by("pk").select_related("payload")]
    assert [(payload.args, payload.traceparent, payload.tracestate) for payload in payloads] == [
        ([1], None, None), ([2], given, "vendor=1"), ([3], given, "vendor=1"), ([4], given, "vendor=1"),
        ([5], None, None),
    ]  # fmt: skip
    assert Ledger.objects.filter(step="one").count() == 2
    assert not Attempt.objects.exists()
    # As everywhere: nothing was left open by looking.
    connection.close()
