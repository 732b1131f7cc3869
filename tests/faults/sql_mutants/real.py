"""Real workers, schedulers and producers whose package has a broken statement, under a scenario of the fault suite."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import conveyor_django

from ...concurrency.flow_mutants import MIGRATION, RESOLVE
from ...concurrency.mutants import Mutant
from ..scenarios import SCENARIOS
from .evidence import JUDGE, TRACE

PACKAGE: Final = Path(conveyor_django.__file__).parent
ROOT: Final = PACKAGE.parent
# Seconds until a run counts as one that does not end.
LIMIT: Final = 90.0
# The line of a traceback that says what was raised.
ERROR: Final = re.compile(r"[\w.]+(Error|Exception|Missing)\b")
# What was wrong at the end: jobs that have not ended well, or a complaint of finish.py.
END: Final = "end"


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a scenario has shown of a mutant: what the judge, the trace's checker and the rest had to say.

    `unwell` is how many jobs have not succeeded; `stuck` is why the run did not come to its end, where it did not.
    """

    mutant: str
    scenario: str
    violations: list[str]
    refusal: str | None
    complaints: list[str]
    unwell: int
    stuck: str | None

    @property
    def is_caught(self) -> bool:
        """Whether anything was not as it should be."""
        return bool(self.said)

    @property
    def said(self) -> dict[str, str]:
        """The first thing that each has said, by who noticed: the judge, the trace, or the end of the run."""
        unwell = [f"{self.unwell} jobs have not succeeded"] if self.unwell else []
        by = {
            JUDGE: self.violations,
            TRACE: [self.refusal] if self.refusal else [],
            END: [*self.complaints, *unwell, *([self.stuck] if self.stuck else [])],
        }
        return {who: what[0].splitlines()[0] for who, what in by.items() if what}


def copy_with(mutant: Mutant, folder: Path) -> None:
    """Copy the package into `folder`, with the mutant's texts in the place of the statements'."""
    package = folder / PACKAGE.name
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in mutant.texts.items():
        if name != RESOLVE:
            (package / "sql" / f"{name}.sql").write_text(text, encoding="utf-8")
            continue
        migration = package / "migrations" / f"{MIGRATION.__name__.rpartition('.')[2]}.py"
        written = migration.read_text(encoding="utf-8")
        assert written.count(MIGRATION.RESOLVE_EDGES) == 1
        migration.write_text(written.replace(MIGRATION.RESOLVE_EDGES, text), encoding="utf-8")


def run(mutant: Mutant, scenario: str, *, jobs: int, seed: int = 1) -> Shown:
    """Run a scenario with the mutant in every process, this one's checks included. Raises OSError."""
    with tempfile.TemporaryDirectory(prefix="conveyor-mutant-") as place:
        folder = Path(place)
        copy_with(mutant, folder)
        # First on the path, and the current folder not on it at all.
        environment = os.environ | {"PYTHONSAFEPATH": "1", "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
        arguments = ["--scenario", scenario, "--jobs", str(jobs), "--seed", str(seed), "--results", place]
        said = _errors_of([sys.executable, "-m", "tests.faults", *arguments], environment)
        path = folder / f"{SCENARIOS[scenario].result_name(jobs)}.json"
        result = json.loads(path.read_text()) if path.exists() else {}
        return Shown(
            mutant=mutant.what, scenario=scenario, violations=result.get("violations", []),
            refusal=result.get("refusal"), complaints=result.get("complaints", []),
            unwell=jobs - result.get("succeeded", jobs),
            stuck=None if result else said,
        )  # fmt: skip


def _errors_of(command: list[str], environment: Mapping[str, str]) -> str:
    """Run to the end, or for LIMIT seconds; return the error that it ended with."""
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            errors = process.communicate(timeout=LIMIT)[1]
        except subprocess.TimeoutExpired:
            # Not killed: it has servers and workers to stop.
            process.send_signal(signal.SIGINT)
            process.communicate()
            return f"the run has not ended after {LIMIT:g} s"
    lines = [line for line in errors.splitlines() if ERROR.match(line)]
    return lines[-1] if lines else "no result"


def loaded_from(mutant: Mutant, statement: str) -> str:
    """Return the text that a process with the mutant's package has for a statement: what `run` relies on."""
    with tempfile.TemporaryDirectory(prefix="conveyor-mutant-") as place:
        copy_with(mutant, Path(place))
        environment = os.environ | {"PYTHONSAFEPATH": "1", "PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
        code = f"from conveyor_django.sql import statement; print(statement({statement!r}), end='')"
        return subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        ).stdout
