"""The project's own files agree with each other and with the code."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import conveyor_django
from conveyor_django import checks
from conveyor_django.conf import ConveyorSettings
from conveyor_django.worker.supervisor import OVERTIME_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
README = (ROOT / "README.md").read_text()
# Two services of the test project besides its programs.
PROGRAMS = sorted(set(SERVICES) - {"postgres"})


def pinned() -> dict[str, list[Requirement]]:
    """Return the pins of constraints.txt by name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins: dict[str, list[Requirement]] = {}
    for requirement in (Requirement(line) for line in lines if line and not line.startswith("#")):
        pins.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return pins


def test_the_version_is_said_once() -> None:
    assert PROJECT["version"] == conveyor_django.__version__
    assert f"## {PROJECT['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_dependency_is_pinned() -> None:
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    named = {canonicalize_name(Requirement(line).name) for group in groups for line in group}
    assert named - {"conveyor-django"} <= set(pinned())
    for requirements in pinned().values():
        for requirement in requirements:
            assert [specifier.operator for specifier in requirement.specifier] == ["=="], requirement


@pytest.mark.parametrize(("python", "django"), [("3.11", "5.2"), ("3.12", "6.0"), ("3.13", "6.1"), ("3.14", "6.1")])
def test_each_python_has_its_django(python: str, django: str) -> None:
    chosen = [
        str(requirement.specifier)
        for requirement in pinned()["django"]
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python})
    ]
    assert len(chosen) == 1
    assert chosen[0].startswith(f"=={django}")
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    assert f"Framework :: Django :: {django}" in PROJECT["classifiers"]


def test_the_page_of_settings_has_each_with_its_default() -> None:
    page = (ROOT / "docs" / "settings.md").read_text()
    rows = dict(re.findall(r"^\| `([A-Z_]+)` \| `([^`]+)` \| .+ \|$", page, flags=re.MULTILINE))
    defaults = {
        field.name.upper(): field.default if field.default_factory is MISSING else dict(field.default_factory())
        for field in fields(ConveyorSettings)
    }
    assert rows == {name: repr(default) for name, default in defaults.items()}


def test_the_page_of_checks_has_each() -> None:
    page = (ROOT / "docs" / "checks.md").read_text()
    named = set(re.findall(r"^\| (conveyor\.[EW]\d+) \|", page, flags=re.MULTILINE))
    assert named == set(re.findall(r'id="(conveyor\.[EW]\d+)"', Path(checks.__file__).read_text()))


def test_the_readme_names_targets_and_tests_that_exist() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    named = set(re.findall(r"`(?:[A-Z_]+=\S+ )?make ([a-z-]+)", README))
    assert {"demo", "run", "test", "soak", "ci"} <= named <= set(targets)
    paths = re.findall(r"ARGS=(\S+?)`", README)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_readmes_service_waits_longer_than_the_grace() -> None:
    grace = re.search(r"--grace (\d+)", README)
    stop = re.search(r"^TimeoutStopSec=(\d+)$", README, flags=re.MULTILINE)
    assert grace
    assert stop
    assert float(stop[1]) >= float(grace[1]) + OVERTIME_SECONDS
    assert "\nKillMode=mixed\n" in README


@pytest.mark.parametrize(
    "document",
    sorted(path.relative_to(ROOT) for path in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]),
    ids=str,
)
def test_links_lead_somewhere(document: Path) -> None:
    text = (ROOT / document).read_text()
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    assert [link for link in links if not (ROOT / document.parent / link).exists()] == []


# -- docker-compose.yml --------------------------------------------------------------------------------------


def command_of(service: str) -> list[str]:
    return shlex.split(SERVICES[service]["command"])


def test_the_programs_are_there() -> None:
    assert PROGRAMS == ["migrate", "scheduler", "web", "worker"]
    for service in PROGRAMS:
        assert command_of(service)[:3] == ["python", "-m", "testproject"]


@pytest.mark.parametrize("service", PROGRAMS)
def test_each_command_line_is_understood(service: str) -> None:
    """With `--help` at its end argparse still reads what stands before it."""
    command = [sys.executable, *command_of(service)[1:], "--help"]
    run = subprocess.run(
        command,
        cwd=ROOT,
        env={"DATABASE_URL": "postgres:///unused"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith("usage:")


def test_everything_waits_for_the_migration_and_that_for_the_database() -> None:
    assert "pg_isready" in SERVICES["postgres"]["healthcheck"]["test"][1]
    assert SERVICES["migrate"]["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    for service in ("web", "worker", "scheduler"):
        assert SERVICES[service]["depends_on"] == {"migrate": {"condition": "service_completed_successfully"}}
        assert SERVICES[service]["restart"] == "unless-stopped"


def test_a_worker_has_time_for_its_grace_before_docker_kills_it() -> None:
    command = command_of("worker")
    grace = float(command[command.index("--grace") + 1])
    period = SERVICES["worker"]["stop_grace_period"]
    # The last outcomes are flushed after the grace: up to 20 s.
    assert float(period.removesuffix("s")) >= grace + 20


def test_the_image_copies_files_that_exist() -> None:
    recipe = SERVICES["worker"]["build"]["dockerfile_inline"]
    copied = [line.split()[1:-1] for line in recipe.splitlines() if line.startswith("COPY")]
    assert copied
    missing = [name for names in copied for name in names if not (ROOT / name).exists()]
    assert missing == []


# -- CI ------------------------------------------------------------------------------------------------------


def test_the_workflow_runs_the_script_and_the_oldest_and_newest_postgresql() -> None:
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert {"run": ".ci/run"} in jobs["script"]["steps"]
    assert jobs["servers"]["strategy"]["matrix"]["postgres"] == ["14", "18"]
    assert "3.14" in jobs["servers"]["strategy"]["matrix"]["python"]


def test_the_ci_script_is_sound_bash() -> None:
    subprocess.run(["bash", "-n", str(ROOT / ".ci/run")], check=True)
    assert (ROOT / ".ci/run").stat().st_mode & 0o111
