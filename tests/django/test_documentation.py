"""The documentation's examples, in a project made of them alone: its test runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pytest_django import Settings

from conveyor_django.compat import FRAMEWORK
from conveyor_django.conf import conveyor_settings

from ..support.databases import process_environment

ROOT = Path(__file__).resolve().parents[2]

SETTINGS = """
import environ
SECRET_KEY = "for-tests-only"
DATABASES = {{"default": environ.Env().db("DATABASE_URL") | {{"TEST": {{"NAME": {name!r}}}}}}}
INSTALLED_APPS = ["django.contrib.contenttypes", "orders"]
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
"""

MODELS = """
from django.db import models

class Order(models.Model):
    number = models.TextField()
    paid = models.BooleanField(default=False)
"""

BANK = """
captured = []

class BankClosed(Exception):
    seconds = 60

def authorise(number, *, key):
    return f"ref-{number}"

def capture(reference, line):
    captured.append(line)
"""

# What the examples use of Celery, which is not there: a task that is called with its request's id.
CELERY = """
from types import SimpleNamespace

def shared_task(*, bind, **options):
    assert bind
    return lambda func: lambda message_id, *args: func(SimpleNamespace(request=SimpleNamespace(id=message_id)), *args)
"""

# What the comments of the examples say, and what runs in them only.
TESTS = """
from asgiref.sync import async_to_sync
from django.test import TestCase

from conveyor_django import JobCancelled
from conveyor_django.crontab import declared_entries
from conveyor_django.models import Job


class DocumentationTests(TestCase):
    def test_readme(self):
        from orders import readme

        order = Order.objects.create(number="A-17")
        exec(readme.CALL, {"order": order, "charge": readme.charge})
        self.assertEqual(Job.objects.get().idempotency_key, f"charge-{order.pk}")

    def test_using(self):
        with self.captureOnCommitCallbacks(execute=True):
            from orders import using

        self.assertEqual(using.again.id, using.first.id)
        self.assertEqual(Job.objects.count(), 3)
        self.assertEqual(using.result.status, "READY")
        self.assertEqual(using.cancelled, "cancelled")
        self.assertEqual(using.taken, [using.first])
        self.assertIs(using.seen.errors[-1].exception_class, JobCancelled)
        self.assertEqual(async_to_sync(using.view)(None).args, ["Ada"])

    def test_handlers(self):
        from conveyor_django.models import Ledger
        from conveyor_django.testing import drain
        from orders import bank, handlers

        order = Order.objects.create(number="A-17")
        handlers.settle.enqueue(order.pk)
        handlers.settle.enqueue(0)
        handlers.renumber.enqueue()
        handlers.notify.enqueue(order.pk)
        results = drain()
        self.assertEqual([result.status for result in results], ["SUCCESSFUL", "FAILED", "SUCCESSFUL", "SUCCESSFUL"])
        self.assertEqual(results[0].return_value, {"reference": "ref-A-17"})
        self.assertEqual(bank.captured, ["A", "17"])
        steps = {"authorise", "capture-0", "capture-1", "mail", "mark", ""}
        self.assertEqual(set(Ledger.objects.values_list("step", flat=True)), steps)
        order.refresh_from_db()
        self.assertEqual((order.number, order.paid), ("sent", True))

    def test_workflows(self):
        from conveyor_django import workflow
        from conveyor_django.models import Ledger
        from conveyor_django.testing import drain
        from orders import flows, whole

        self.assertEqual(list(whole.cancelled.values()), ["cancelled"] * 4)
        self.assertEqual(sorted(whole.cancelled), whole.again)
        with workflow("parts") as wf:
            wf.add(flows.split, 3)
        drain()
        results = dict(Ledger.objects.values_list("job__payload__name", "result"))
        self.assertEqual((results["ship"], results["pack"], results["total"]), ("auth-42", 3, 3))

    def test_cron(self):
        from orders import cron

        entries = declared_entries()
        self.assertEqual(set(entries), {"orders.cron.weekly_report", "stock", "prices"})
        self.assertEqual([f"{tick:%H:%M}" for tick in cron.ticks][1:], ["02:30"] * 2)

    def test_moving_from_celery(self):
        from conveyor_django.testing import drain
        from orders import moving

        order = Order.objects.create(number="A-17")
        ids = {moving.settle_from_celery("3f0c", order.pk) for _ in range(2)}
        self.assertEqual(ids, {f"default:{Job.objects.get(idempotency_key='celery-3f0c').pk}"})
        moving.remind.enqueue(order.pk)
        results = {result.task.func.__name__: result for result in drain()}
        self.assertEqual(sorted(results), ["fetch", "parse", "remind", "settle", "store"])
        self.assertEqual({result.status for result in results.values()}, {"SUCCESSFUL"})
        self.assertEqual(results["store"].return_value, ["x", "ORDER 7"])
        order.refresh_from_db()
        self.assertIs(order.paid, True)
        late = moving.remind.enqueue(order.pk)
        Job.objects.filter(state="ready").update(created_at=moving.timezone.now() - moving.timedelta(minutes=11))
        drain()
        self.assertEqual(Job.objects.get(pk=late.id.removeprefix("default:")).state, "cancelled")

    def test_queues(self):
        from conveyor_django.models import PausedTask, Queue
        from orders import queues

        queues.pack.enqueue(7)
        queues.count_stock.enqueue()
        keys = set(Job.objects.values_list("concurrency_key", flat=True))
        self.assertEqual(keys, {"bank-7", "order-7", "stocktaking"})
        queue = Queue.objects.get()
        settings = (queue.paused, queue.soft_cap, queue.exact_cap, queue.key_cap)
        self.assertEqual((settings, PausedTask.objects.count()), ((False, 20, None, 2), 0))

    def test_bulk(self):
        order = Order.objects.create(number="A-17")
        from orders import bulk

        self.assertEqual([result.args for result in bulk.paid_later], [[order.pk]])
        self.assertEqual([result.kwargs for result in bulk.mixed], [{}, {"name": "Grace"}, {}])
        for result in (bulk.early, bulk.late):
            result.refresh()
        self.assertEqual([bulk.early.status, bulk.late.status], ["FAILED", "READY"])
        holder = Job.objects.get(idempotency_key="reminder-ada")
        self.assertEqual((f"default:{holder.pk}", holder.payload.args), (bulk.late.id, ["Ada again"]))

    def test_backoff(self):
        from types import SimpleNamespace

        from orders.tasks import BankBusy, as_the_bank_says

        self.assertEqual(as_the_bank_says(BankBusy(7), None), 7)
        self.assertEqual(as_the_bank_says(OSError(), SimpleNamespace(attempts=2)).total_seconds(), 120)
"""


def blocks(document: str) -> list[str]:
    """Return the Python examples of a document."""
    text = (ROOT / document).read_text().replace("django.tasks", FRAMEWORK)
    return [dedent(block) for block in re.findall(r"^ *```python\n(.*?)^ *```$", text, flags=re.MULTILINE | re.DOTALL)]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Write the project."""
    settings, task, call = blocks("README.md")
    declared, enqueued, bulk, replaced, looked, controlled = blocks("docs/using.md")
    flows, adding, whole = blocks("docs/workflows.md")
    # The values of the two calls, and of the result between them, for the test to look at.
    controlled = controlled.replace("cancel(first)", "cancelled = cancel(first)")
    controlled = controlled.replace(
        "requeue(first)", "seen = default_task_backend.get_result(first.id)\ntaken = requeue(first)"
    )
    files = {
        "celery.py": CELERY,
        "settings.py": SETTINGS.format(name=f"conveyor_documentation_{os.getpid()}") + settings,
        "orders/__init__.py": "",
        "orders/models.py": MODELS,
        "orders/tasks.py": declared,
        "orders/bank.py": BANK,
        "orders/handlers.py": "\n".join(blocks("docs/handlers.md")),
        "orders/readme.py": f"{task}\nCALL = {call!r}",
        "orders/using.py": f"from orders.tasks import *\n{enqueued}\n{looked}\n{controlled}",
        "orders/bulk.py": f"from orders.tasks import *\nfrom django.utils import timezone\n{bulk}\n{replaced}",
        "orders/flows.py": f"{flows}\n{adding}",
        "orders/whole.py": whole,
        "orders/moving.py": "\n".join(blocks("docs/moving/celery.md")),
        "orders/queues.py": "\n".join(blocks("docs/queues.md")),
        "orders/cron.py": "\n".join(blocks("docs/cron.md")),
        "orders/tests.py": "\n".join([*blocks("docs/testing.md"), TESTS]),
    }
    (tmp_path / "orders").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_settings_for_several_databases(settings: Settings) -> None:
    [block] = blocks("docs/databases.md")
    given: dict[str, Any] = {"DATABASES": {}}
    exec(block, given)  # noqa: S102 - our own text
    settings.CONVEYOR = given["CONVEYOR"]
    assert conveyor_settings().databases == ("default", *given["DATABASES"])
    assert conveyor_settings().database_of("billing") == "shard1"


def test_every_example_does_what_it_says(project: Path, django_db_setup: None) -> None:
    environment = process_environment() | {
        "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": f"{project}{os.pathsep}{ROOT}",
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "django", "test", "--noinput"],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Ran 14 tests" in ran.stderr
