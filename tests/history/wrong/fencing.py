"""Tokens of two runs, of no claim, or too old for what they did."""

from __future__ import annotations

import uuid

from ..scene import Scene
from ..tables import EffectRow
from .marking import wrong


@wrong("stale token won")
def a_late_renewal_was_taken(scene: Scene) -> None:
    scene.line("asked", "answer", verb="renew")["won"] = True


@wrong("stale token won")
def a_late_outcome_was_taken(scene: Scene) -> None:
    scene.ask("asked", 1, "end")
    scene.answer("asked", 1, "end", won=True)


@wrong("token of two runs")
def two_processes_ran_under_one_token(scene: Scene) -> None:
    scene.lines.append(scene.line("frozen", "begin", token=2) | {"pid": 2})


@wrong("token of two owners")
def two_owners_wrote_under_one_token(scene: Scene) -> None:
    scene.change(scene.tables.ledger, "stepped", {"step": "second"}, owner=uuid.UUID(int=2))


@wrong("token never given")
def a_run_had_a_token_of_its_own_making(scene: Scene) -> None:
    scene.tell("loser", 2, "begin", name="loser")


@wrong("token never given")
def an_effect_has_a_token_of_its_own_making(scene: Scene) -> None:
    scene.tables.effects.append(EffectRow(name="parent", job=scene.ids["parent"], token=7, step=None))


@wrong("store took a stale token")
def the_store_s_own_order_is_wrong(scene: Scene) -> None:
    last = next(put for put in reversed(scene.puts) if not put.accepted)
    scene.puts[scene.puts.index(last)] = last._replace(accepted=True)


@wrong("store took a stale token")
def a_late_put_was_accepted(scene: Scene) -> None:
    scene.tell("frozen", 2, "put", accepted=True)


@wrong("store refused the newest")
def the_winner_was_refused(scene: Scene) -> None:
    scene.line("frozen", "put", token=3)["accepted"] = False
