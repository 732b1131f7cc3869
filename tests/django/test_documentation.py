"""The documentation's examples, in a project made of them alone: its test runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from conveyor_django.compat import FRAMEWORK

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

# What the comments of the examples say, and what runs in them only.
TESTS = """
from asgiref.sync import async_to_sync
from django.test import TestCase

from conveyor_django import JobCancelled
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
        self.assertEqual(using.taken, [int(using.first.id.partition(":")[2])])
        self.assertIs(using.seen.errors[-1].exception_class, JobCancelled)
        self.assertEqual(async_to_sync(using.view)(None).args, ["Ada"])

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
    declared, enqueued, looked, controlled = blocks("docs/using.md")
    # The values of the two calls, and of the result between them, for the test to look at.
    controlled = controlled.replace("cancel(first)", "cancelled = cancel(first)")
    controlled = controlled.replace(
        "requeue(first)", "seen = default_task_backend.get_result(first.id)\ntaken = requeue(first)"
    )
    files = {
        "settings.py": SETTINGS.format(name=f"conveyor_documentation_{os.getpid()}") + settings,
        "orders/__init__.py": "",
        "orders/models.py": MODELS,
        "orders/tasks.py": declared,
        "orders/readme.py": f"{task}\nCALL = {call!r}",
        "orders/using.py": f"from orders.tasks import *\n{enqueued}\n{looked}\n{controlled}",
        "orders/tests.py": "\n".join([*blocks("docs/testing.md"), TESTS]),
    }
    (tmp_path / "orders").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_every_example_does_what_it_says(project: Path, django_db_setup: None) -> None:
    environment = process_environment() | {
        "DJANGO_SETTINGS_MODULE": "settings", "PYTHONPATH": f"{project}{os.pathsep}{ROOT}",
    }  # fmt: skip
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-m", "django", "test", "--noinput"],
        cwd=project, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "Ran 6 tests" in ran.stderr
