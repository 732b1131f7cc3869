"""The table of legal transitions."""

from __future__ import annotations

from conveyor_django.states import TERMINAL, TRANSITIONS, WAITING, JobState, Verb, is_legal


def test_every_verb_and_every_state_is_in_the_table() -> None:
    assert set(TRANSITIONS) == set(Verb)
    mentioned = {state for start, end in TRANSITIONS.values() for state in start | end}
    assert mentioned == {None, *JobState}


def test_a_state_is_waiting_running_or_terminal() -> None:
    assert WAITING | TERMINAL | {JobState.RUNNING} == set(JobState)
    assert not WAITING & TERMINAL
    assert {state for state in JobState if state.is_terminal} == TERMINAL


def test_only_requeue_and_prune_leave_an_ended_job() -> None:
    leaving = {verb for verb, (start, _) in TRANSITIONS.items() if start & TERMINAL}
    assert leaving == {Verb.REQUEUE, Verb.PRUNE}


def test_a_success_is_final() -> None:
    assert not any(is_legal(JobState.SUCCEEDED, after) for after in JobState)


def test_only_a_claim_makes_a_job_run() -> None:
    verbs = {
        verb for verb, (start, end) in TRANSITIONS.items()
        if JobState.RUNNING in end and JobState.RUNNING not in start
    }  # fmt: skip
    assert verbs == {Verb.CLAIM}


def test_only_succeed_leads_to_success() -> None:
    assert {verb for verb, (_, end) in TRANSITIONS.items() if JobState.SUCCEEDED in end} == {Verb.SUCCEED}


LEGAL = """
new > blocked, scheduled, ready
blocked > ready, scheduled, cancelled
scheduled > ready, cancelled
ready > running, cancelled
running > succeeded, failed, cancelled, ready, scheduled
succeeded > gone
failed > ready, blocked, gone
cancelled > ready, blocked, gone
"""


def test_the_whole_table_state_by_state() -> None:
    for line in LEGAL.strip().splitlines():
        start, ends = line.split(" > ")
        before = None if start == "new" else JobState(start)
        after = {None if end == "gone" else JobState(end) for end in ends.split(", ")}
        legal = {state for state in (None, *JobState) if is_legal(before, state)}
        assert legal - {before} == after, start
