"""The judge, on a right history, on those that only look wrong, and on those that are wrong on purpose."""

from __future__ import annotations

import pytest

from .records import BrokenHistory
from .right import right
from .rules import RULES
from .scene import Scene
from .wrong import WRONG, Spoil
from .wrong.fencing import two_processes_ran_under_one_token


def rules_of(scene: Scene, **terms: object) -> set[str]:
    return {violation.rule for violation in scene.judged(**terms)}


# -- what is right -----------------------------------------------------------------------------------------------


def test_a_right_history() -> None:
    assert right().judged() == []


def test_what_was_pruned_is_not_missed() -> None:
    scene = right()
    for name in ("plain", "minutely 1"):
        scene.drop(scene.tables.ledger, name)
        scene.tables.jobs.remove(scene.row(name))
    assert rules_of(scene, pruned=True) == set()
    assert rules_of(scene) >= {"lost", "tick missing"}
    # The rest is looked at all the same.
    scene.effect("loser", 1)
    assert rules_of(scene, pruned=True) == {"effect without its commit"}


def test_only_so_many_attempts_are_kept() -> None:
    scene = right()
    scene.drop(scene.tables.attempts, "frozen", lease_version=1)
    assert rules_of(scene, kept_attempts=2) == set()
    assert rules_of(scene, kept_attempts=3) == {"run without an outcome"}


def test_what_was_put_back_by_hand_need_not_wait() -> None:
    scene = right()
    scene.move(scene.line("child", "begin"), before=scene.line("parent", "begin", token=1))
    assert rules_of(scene) == {"dependant too early"}
    scene.note("requeue", job=scene.ids["child"])
    assert rules_of(scene) == set()


# -- what is wrong -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rules", "spoil"), WRONG, ids=[spoil.__name__ for _, spoil in WRONG])
def test_a_wrong_history_is_found_by_its_rules_alone(rules: set[str], spoil: Spoil) -> None:
    scene = right()
    spoil(scene)
    found = scene.judged()
    assert sorted(violation.rule for violation in found) == sorted(rules), "\n".join(map(str, found))


def test_every_rule_has_a_wrong_history() -> None:
    named = {rule.__name__.replace("another_s", "another's").replace("_", " ") for rule in RULES}
    assert set().union(*(rules for rules, _ in WRONG)) == named


# -- what it says ------------------------------------------------------------------------------------------------


def test_a_violation_can_be_understood_at_night() -> None:
    scene = right()
    two_processes_ran_under_one_token(scene)
    [violation] = scene.judged()
    first, *seen = str(violation).splitlines()
    assert first == f"token of two runs, job {scene.ids['frozen']}: token 2 began 2 times"
    assert [line.strip().split(":")[1] for line in seen] == [" begin pid=1 job=3 token=2 name='frozen'",
                                                             " begin pid=2 job=3 token=2 name='frozen'"]  # fmt: skip


@pytest.mark.parametrize(
    "record", [
        {"event": "began"}, {"event": "begin", "job": 1},
        {"event": "answer", "job": 1, "token": 1, "verb": "end", "won": True},
    ],
)  # fmt: skip
def test_a_record_that_is_none(record: dict[str, object]) -> None:
    scene = right()
    scene.lines.append({"at": 0.0, "pid": 1} | record)
    with pytest.raises(BrokenHistory, match=f"line {len(scene.lines)}"):
        scene.judged()
