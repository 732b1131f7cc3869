"""Without the extra nothing of it is imported, and the rest works."""

from __future__ import annotations

import subprocess
import sys

from ..support.databases import process_environment

REFUSING = """
import sys
import importlib.abc

class Refuse(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"ninja", "pydantic"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""
REST = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "ninja" else found(name, *rest)
import django
django.setup()
from django.core.management import call_command
from django.urls import NoReverseMatch, reverse
call_command("check")
from conveyor_django import task
from conveyor_django.management.commands import conveyor_token
from conveyor_django.admin import ApiTokenAdmin
from testproject.shop.tasks import settle_order
assert settle_order.http
try:
    import conveyor_django.api.urls
except django.core.exceptions.ImproperlyConfigured as error:
    print(error)
"""
UNUSED = """
import django
django.setup()
import conveyor_django.worker.child, conveyor_django.admin, testproject.shop.tasks
import sys
print([name for name in sys.modules if name.split(".")[0] in {"ninja", "pydantic"}])
"""


def run(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env=process_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_the_rest_works_and_the_api_says_what_it_needs() -> None:
    assert "pip install 'conveyor-django[api]'" in run(REFUSING + REST)


def test_nothing_of_it_is_imported_where_it_is_not_used() -> None:
    assert run(UNUSED).strip() == "[]"
