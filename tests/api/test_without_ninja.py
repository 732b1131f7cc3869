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
call_command("check")
import conveyor_django.worker.child
from conveyor_django.management.commands import conveyor_token
from conveyor_django.admin import ApiTokenAdmin
from testproject.shop.tasks import settle_order
assert settle_order.http
try:
    import conveyor_django.api.urls
except django.core.exceptions.ImproperlyConfigured as error:
    print(error)
"""


def test_the_rest_works_and_the_api_says_what_it_needs() -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", REFUSING + REST],
        env=process_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "pip install 'conveyor-django[api]'" in ran.stdout
