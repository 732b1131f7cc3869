"""The runner of the models: TLC's verdict is held against what a configuration says of itself."""

from __future__ import annotations

import json

import pytest

from spec import run
from spec.configurations import MUTANTS, InvalidConfiguration, read_configuration, read_configurations
from spec.tlc import read_outcome

# Counts to two, and stops.
MODULE = """
---- MODULE Counter ----
EXTENDS Naturals
VARIABLE x
Next == x < 2 /\\ x' = x + 1
Spec == x = 0 /\\ [][Next]_x
Small == x < 3
Tiny == x < 2
Falls == [][x' < x]_x
Odd == x = "one"
Reaches == <>(x = 3)
====
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Counter.tla").write_text(MODULE)
    (tmp_path / "mutants").mkdir()
    return tmp_path


def write(folder, name, *head, checks=""):
    path = folder / f"{name}.cfg"
    lines = [*(f"\\* {line}" for line in head), "SPECIFICATION Spec", checks]
    path.write_text("\n".join(lines) + "\n")
    return path


COUNTER = ("module: Counter", "about: It counts.", "deadlock: allowed")


def check(folder, *options):
    return run.main([*options, "--folder", str(folder), "--results", str(folder / "results.json"), "--jobs", "2"])


def verdicts(folder):
    return {one["name"]: one["verdict"] for one in json.loads((folder / "results.json").read_text())}


@pytest.mark.long
def test_tlc_is_held_against_what_is_expected(folder):
    write(folder, "counter", *COUNTER, checks="INVARIANT Small")
    write(folder, "mutants/tiny", *COUNTER, "expect: violation of Tiny", checks="INVARIANT Tiny")
    write(folder, "mutants/falls", *COUNTER, "expect: violation of Falls", checks="PROPERTY Falls")
    write(folder, "mutants/reaches", *COUNTER, "expect: temporal", checks="PROPERTY Reaches")
    assert check(folder) == 0
    assert verdicts(folder) == {
        "counter": "holds",
        "mutants/tiny": "killed by Tiny in 3 states",
        "mutants/falls": "killed by Falls in 2 states",
        "mutants/reaches": "killed by a temporal property in 4 states",
    }


@pytest.mark.long
@pytest.mark.timeout(300)
def test_errors_and_surprises_are_told(folder, capsys):
    write(folder, "violated", *COUNTER, checks="INVARIANT Tiny")
    write(folder, "stops", "module: Counter", "about: It ends.")
    write(folder, "mutants/lives", *COUNTER, "expect: violation of Small", checks="INVARIANT Small")
    write(folder, "mutants/other", *COUNTER, "expect: violation of Small", checks="INVARIANTS Small Tiny")
    write(folder, "mutants/unclear", *COUNTER, "expect: violation of Odd", checks="INVARIANT Odd")
    write(folder, "mutants/unknown", *COUNTER, "expect: violation of Nothing", checks="INVARIANT Nothing")
    (folder / "Broken.tla").write_text(MODULE.replace("Counter", "Broken").replace("VARIABLE x", ""))
    write(folder, "mutants/unparsed", "module: Broken", "about: No.", "expect: temporal", checks="PROPERTY Reaches")
    assert check(folder) == 1
    assert all(verdict.startswith("WRONG: ") for verdict in verdicts(folder).values())
    told = verdicts(folder)
    assert told["violated"] == "WRONG: Tiny is violated"
    assert told["mutants/lives"] == "WRONG: nothing was found; Small should be violated"
    assert told["mutants/other"] == "WRONG: Tiny is violated, not Small"
    assert all("TLC's exit code is" in told[name] for name in ("stops", *(f"mutants/un{n}" for n in UNCLEAR)))
    output = capsys.readouterr().out
    assert "State 3:" in output
    assert "7 not as expected" in output


UNCLEAR = ("clear", "known", "parsed")


@pytest.mark.parametrize(
    ("output", "code", "found"),
    [
        ("Error: Invariant Once is violated.", 12, "Once"),
        ("Error: Invariant Once is violated by the initial state:", 12, "Once"),
        ("Error: Action property Grows is violated.", 13, "Grows"),
        ("Error: Temporal properties were violated.", 13, "temporal"),
        ("Model checking completed. No error has been found.", 0, None),
    ],
)
def test_verdicts(output, code, found):
    outcome = read_outcome(output, code=code, seconds=1.0)
    assert (outcome.found, outcome.error) == (found, None)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("Error: Deadlock reached.", 11),
        ("Error: Evaluating invariant Once failed.", 75),
        # Whatever stands there: an exit code that means something else has the last word.
        ("Error: Invariant Once is violated.", 0),
        ("Error: Invariant Once is violated.", 151),
        ("Model checking completed. No error has been found.", 255),
        ("", 0),
        ("", -9),
    ],
)
def test_what_is_no_verdict_is_an_error(output, code):
    outcome = read_outcome(output, code=code, seconds=1.0)
    assert outcome.found is None
    assert outcome.error is not None


def test_figures():
    outcome = read_outcome(
        "1,204 states generated (40,000 s/min), 318 distinct states found (9,000 ds/min), 12 states left on queue.\n"
        "Model checking completed. No error has been found.\n"
        "5204 states generated, 1318 distinct states found, 0 states left on queue.\n"
        "The depth of the complete state graph search is 27.\n",
        code=0,
        seconds=2.5,
    )
    assert (outcome.generated, outcome.distinct, outcome.depth, outcome.seconds) == (5204, 1318, 27, 2.5)


@pytest.mark.parametrize(
    ("name", "head", "problem"),
    [
        ("one", ("about: It counts.",), "module"),
        ("one", ("module: Counter",), "about"),
        ("one", ("module: Other", "about: It counts."), "does not exist"),
        ("one", (*COUNTER, "expect: failure"), "violation of Name"),
        ("one", (*COUNTER, "workers: many"), "workers"),
        ("one", (*COUNTER, "workers: 1", "workers: 2"), "twice"),
        ("mutants/one", COUNTER, "a mutant has one of"),
        ("mutants/one", (*COUNTER, "expect: temporal", "redundant: both"), "a mutant has one of"),
    ],
)
def test_a_head_that_says_too_little_is_refused(folder, name, head, problem):
    path = write(folder, name, *head)
    with pytest.raises(InvalidConfiguration, match=problem):
        read_configuration(path, folder)
    assert run.main(["--folder", str(folder), "--list"]) == 2


def test_what_is_chosen(folder, capsys):
    (folder / "Other.tla").write_text("")
    write(folder, "counter", *COUNTER)
    write(folder, "large", *COUNTER, "by hand")
    write(folder, "mutants/tiny", "module: Other", "about: It is small.", "expect: violation of Tiny")

    def listed(*options):
        assert run.main(["--folder", str(folder), "--list", *options]) == 0
        return [line.split(": ")[0] for line in capsys.readouterr().out.splitlines()]

    assert listed() == ["counter", "mutants/tiny"]
    assert listed("--by-hand") == ["counter", "large (by hand)", "mutants/tiny"]
    assert listed("large") == ["large (by hand)"]
    assert listed("Counter") == ["counter"]
    assert listed("Other") == listed("mutants/*") == ["mutants/tiny"]
    assert run.main(["--folder", str(folder), "--list", "nothing"]) == 2
    assert "no configuration is called 'nothing'" in capsys.readouterr().err


def test_nothing_to_check_is_no_success(folder):
    assert check(folder) == 1


def test_the_project_s_configurations_say_what_they_are():
    configurations = read_configurations(run.FOLDER)
    models = {"Conveyor", "Cron", "Wakeup"}
    assert models <= {one.module.stem for one in configurations if one.expected is None}
    assert models <= {one.module.stem for one in configurations if one.expected and one.path.parent.name == MUTANTS}
