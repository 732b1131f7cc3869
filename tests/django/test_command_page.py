"""The page of the commands: each of them is there, with options that it has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import find_commands, load_command_class

import conveyor_django

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "commands.md").read_text()
COMMANDS = find_commands(str(Path(conveyor_django.__file__).parent / "management"))
# The sections, by their headings.
SECTIONS = {part.splitlines()[0]: part for part in re.split(r"^## ", PAGE, flags=re.MULTILINE)}
COMMON = SECTIONS["What they have in common"]
MANY = ("conveyor_retry", "conveyor_cancel", "conveyor_prune")
EVERYWHERE = {"--database", "--json"}


def section_of(command: str) -> str:
    return next((text for heading, text in SECTIONS.items() if command in heading.split()), "")


def options_of(command: str) -> set[str]:
    """Return the options that the command has itself, not as each of Django's."""
    parser = load_command_class("conveyor_django", command).create_parser("manage.py", command)
    every = {"--help", "--version", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
             "--force-color", "--skip-checks", "--noinput"}  # fmt: skip
    return {option for option in parser._option_string_actions if option.startswith("--")} - every


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_is_named(command: str) -> None:
    assert command in PAGE


@pytest.mark.parametrize("command", COMMANDS)
def test_each_option_that_its_section_names_is_one_of_its_own(command: str) -> None:
    named = set(re.findall(r"--[a-z][a-z-]+", section_of(command)))
    assert named <= options_of(command)


@pytest.mark.parametrize("command", [*MANY, "conveyor_drain", "conveyor_rescue", "conveyor_enqueue", "conveyor_pause"])
def test_each_of_its_options_is_explained(command: str) -> None:
    known = set(re.findall(r"--[a-z][a-z-]+", section_of(command))) | EVERYWHERE
    if command in MANY:
        known |= set(re.findall(r"--[a-z][a-z-]+", COMMON))
    assert options_of(command) <= known


@pytest.mark.parametrize("command", MANY)
def test_the_filter_is_the_same_everywhere(command: str) -> None:
    assert {"--queue", "--task", "--state", "--rate", "--dry-run", "--no-input", *EVERYWHERE} <= options_of(command)
