"""Where the commands' log lines go."""

from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import logging, sys
if sys.argv[1:]:
    logging.basicConfig(format="the project's: %(message)s")
from conveyor_django.log import configure
configure("json")
logging.getLogger("psycopg").warning("error ignored")
logging.getLogger("psycopg").info("chatter")
"""


def logged(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *arguments], capture_output=True, text=True, check=True)
    return done.stderr


def test_what_the_driver_says_is_a_json_line_as_well():
    [line] = logged().splitlines()
    record = json.loads(line)
    assert (record["logger"], record["level"], record["event"]) == ("psycopg", "WARNING", "error ignored")


def test_a_projects_own_handler_has_it_alone():
    assert logged("its own").splitlines() == ["the project's: error ignored"]
