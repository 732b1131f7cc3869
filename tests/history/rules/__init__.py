"""The rules: each a function of the whole story that says what breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from ..story import Story
from ..verdict import Violation
from . import accepted, capped, crons, effects, fencing, order, outcomes, steps

Rule = Callable[[Story], Iterator[Violation]]

# The worst first.
RULES: Final[tuple[Rule, ...]] = (
    accepted.lost, accepted.not_ended, accepted.key_made_two_jobs, accepted.another_s_key, accepted.another_s_work,
    accepted.end_without_a_reason,
    effects.effect_twice, effects.effect_without_its_commit, effects.effect_missing,
    outcomes.success_and_ledger_differ, outcomes.success_without_a_run, outcomes.run_after_the_success,
    outcomes.two_outcomes_of_a_run, outcomes.run_without_an_outcome, outcomes.outcome_nobody_asked_for,
    fencing.stale_token_won, fencing.token_of_two_runs, fencing.token_of_two_owners, fencing.token_never_given,
    fencing.store_took_a_stale_token, fencing.store_refused_the_newest,
    steps.step_twice, steps.recorded_step_ran_again, steps.step_without_a_run,
    order.dependant_too_early, order.dependant_of_a_failure_ran,
    capped.cap_exceeded,
    crons.tick_twice, crons.tick_missing, crons.tick_after_the_last,
)  # fmt: skip
