"""The model in `spec/tla` speaks of the same states, verbs and transitions as the code."""

from __future__ import annotations

import json
import re
from pathlib import Path

from conveyor_django.states import TERMINAL, TRANSITIONS, WAITING, JobState, Verb
from spec.configurations import read_configurations

ROOT = Path(__file__).resolve().parents[2]
SPEC = ROOT / "spec" / "tla"
MODEL = SPEC / "Conveyor.tla"

Transition = tuple[str, str, str]


def legal_in(model: str) -> list[Transition]:
    """Return the tuples of the operator `Legal`, <<verb, before, after>> each."""
    return re.findall(r'<<"(\w+)", "(\w+)", "(\w+)">>', braces_of("Legal", model))


def states_in(operator: str, model: str) -> set[str]:
    """Return the strings of an operator that is a set of them."""
    return set(re.findall(r'"(\w+)"', braces_of(operator, model)))


def braces_of(operator: str, model: str) -> str:
    found = re.search(rf"^{operator} == \{{(.*?)\}}", model, re.MULTILINE | re.DOTALL)
    assert found is not None, f"Conveyor.tla does not define {operator} as a set"
    return found[1]


def legal_in_code() -> set[Transition]:
    """Return the table of the code, in the model's words for no row: new before enqueue, gone after prune."""
    return {
        (verb.value, start or "new", end or "gone")
        for verb, (starts, ends) in TRANSITIONS.items()
        for start in starts
        for end in ends
    }


def test_the_model_has_the_transitions_of_the_code() -> None:
    listed = legal_in(MODEL.read_text("utf-8"))
    assert len(listed) == len(set(listed))
    assert set(listed) == legal_in_code()
    assert {verb for verb, _, _ in listed} == {verb.value for verb in Verb}


def test_the_model_has_the_states_of_the_code() -> None:
    model = MODEL.read_text("utf-8")
    assert states_in("Waiting", model) == {state.value for state in WAITING}
    assert states_in("Terminal", model) == {state.value for state in TERMINAL}
    used = {state for _, before, after in legal_in(model) for state in (before, after)}
    assert used == {"new", "gone", *(state.value for state in JobState)}


def test_the_figures_are_of_these_models() -> None:
    """docs/evidence.md is written from results/tlc.json: `make tlc` makes that anew, `make evidence` then the page."""
    figures = {one["name"]: one["digest"] for one in json.loads((ROOT / "results" / "tlc.json").read_text("utf-8"))}
    assert figures == {one.name: one.digest for one in read_configurations(SPEC) if not one.by_hand}
