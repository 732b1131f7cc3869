"""`manage.py conveyor_retry`: named jobs, and all that match; asked first, counted, paced, stopped by a signal."""

from __future__ import annotations

import signal

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from conveyor_django import cancel
from conveyor_django.management.commands import conveyor_retry
from conveyor_django.models import Job
from conveyor_django.operate import selection

from ..support.connections import Connect
from ..support.factories import JobFactory, in_seconds
from ..support.waits import wait_until
from .conftest import failed_with

pytestmark = pytest.mark.django_db

COMMAND = "conveyor_retry"


def ready() -> set[int]:
    return set(Job.objects.filter(state="ready").values_list("pk", flat=True))


def test_named_jobs_by_id_and_by_result_id(run):
    failed, cancelled, other = JobFactory(failed=True, attempt=5), JobFactory(cancelled=True), JobFactory(failed=True)
    assert run(COMMAND, failed.pk, f"default:{cancelled.pk}", failed.pk) == ["2 jobs retried."]
    assert ready() == {failed.pk, cancelled.pk}
    failed.refresh_from_db()
    other.refresh_from_db()
    assert (failed.attempt, failed.lease_version, other.state) == (0, 1, "failed")


def test_each_that_could_not_be_is_named_with_the_reason(run, capsys):
    dead, done, waits = JobFactory(failed=True), JobFactory(succeeded=True), JobFactory(scheduled=True)
    gone = dead.pk + 10_000
    with pytest.raises(CommandError) as caught:
        run(COMMAND, dead.pk, done.pk, waits.pk, gone)
    assert capsys.readouterr().out == "1 job retried.\n"
    said = str(caught.value)
    assert f"default:{done.pk} has succeeded, and a success is not undone: enqueue a new job" in said
    assert f"default:{waits.pk} is scheduled: only failed and cancelled jobs are retried" in said
    assert f"default:{gone} does not exist" in said
    assert f"default:{dead.pk}" not in said
    assert caught.value.returncode == 1


@pytest.mark.django_db(transaction=True)
def test_one_that_is_locked_is_said_to_be(run, connect: Connect):
    job = JobFactory(failed=True)
    other = connect()
    with other.transaction():
        other.execute("SELECT 1 FROM conveyor_job WHERE id = %s FOR UPDATE", (job.pk,))
        with pytest.raises(CommandError, match="is failed, but somebody has it locked"):
            run(COMMAND, job.pk)


@pytest.mark.parametrize(
    "name", ["x", "0", "-1", "nowhere:1", "default:0", "99999999999999999999", "9" * 5000, "1.5", "default:x"]
)
def test_what_names_no_job(run, name):
    job = JobFactory(failed=True)
    with pytest.raises(CommandError, match=r"names no job|unrecognized arguments|not of database"):
        run(COMMAND, job.pk, name)
    assert ready() == set()


@pytest.mark.parametrize(
    "arguments",
    [[], ["1", "--queue", "a"], ["--rate", "5"], ["--dry-run"]],
    ids=lambda given: " ".join(given) or "none",
)
def test_either_names_or_a_filter(run, arguments):
    JobFactory(failed=True, pk=1)
    with pytest.raises(CommandError, match="Name the jobs to retry by their ids, or say which by"):
        run(COMMAND, "--no-input", *arguments)
    assert ready() == set()


def test_failed_ones_alone_unless_cancelled_are_asked_for(run):
    failed, cancelled = JobFactory(failed=True, queue="a"), JobFactory(cancelled=True, queue="a")
    JobFactory(failed=True, queue="b")
    JobFactory(succeeded=True, queue="a")
    assert run(COMMAND, "--queue", "a", "--no-input") == ["1 job retried."]
    assert ready() == {failed.pk}
    run(COMMAND, "--queue", "a", "--state", "failed", "--state", "cancelled", "--no-input")
    assert ready() == {failed.pk, cancelled.pk}


@pytest.mark.parametrize(
    ("options", "hits"),
    [
        (["--task", "shop.tasks.a"], "ab"),
        (["--task", "shop.tasks.a", "--task", "shop.tasks.c"], "abc"),
        (["--queue", "q"], "bc"),
        (["--task", "shop.tasks.a", "--queue", "q"], "b"),
        (["--error", "TIMED out"], "a"),
        (["--error", "valueerror"], "abc"),
        (["--error", "disk full"], ""),
        (["--error", "100%"], "b"),
        (["--since", "90m"], "c"),
        (["--until", "90m"], "ab"),
        (["--since", "5h", "--until", "90m"], "b"),
    ],
    ids=" ".join,
)
def test_each_filter(run, options, hits):
    jobs = {
        "a": failed_with("timed out", task="shop.tasks.a", finished_at=in_seconds(-10 * 3600)),
        "b": failed_with("100% wrong", task="shop.tasks.a", queue="q", finished_at=in_seconds(-2 * 3600)),
        "c": failed_with("1000 wrong", task="shop.tasks.c", queue="q", finished_at=in_seconds(-3600)),
    }
    run(COMMAND, *options, "--no-input")
    assert ready() == {jobs[name].pk for name in hits}


def test_an_instant_as_a_bound(run):
    old, new = (JobFactory(failed=True, finished_at=in_seconds(-hours * 3600)) for hours in (3, 1))
    run(COMMAND, "--until", in_seconds(-2 * 3600).isoformat(), "--no-input")
    assert ready() == {old.pk}
    run(COMMAND, "--since", in_seconds(-2 * 3600).isoformat(), "--no-input")
    assert ready() == {old.pk, new.pk}


@pytest.mark.parametrize("answers", ["n\n", "\n", "maybe\n", ""])
def test_without_a_yes_nothing_is_changed(run, answer, capsys, answers):
    JobFactory(failed=True)
    answer(answers)
    with pytest.raises(CommandError, match=r"Nothing was changed|nothing was changed. Pass --no-input"):
        run(COMMAND, "--state", "failed")
    assert ready() == set()
    assert capsys.readouterr().err == "Retry 1 job? [y/N] "


@pytest.mark.parametrize("yes", ["y", "Yes "])
def test_a_yes_does_it(run, answer, yes):
    jobs = JobFactory.create_batch(2, failed=True)
    answer(f"{yes}\n")
    assert run(COMMAND, "--state", "failed") == ["2 jobs retried."]
    assert ready() == {job.pk for job in jobs}


def test_a_dry_run_counts_and_changes_nothing(run, run_json):
    JobFactory.create_batch(3, failed=True)
    assert run(COMMAND, "--state", "failed", "--dry-run")[-1] == "3 jobs match. Nothing was changed."
    told = run_json(COMMAND, "--state", "failed", "--dry-run")
    assert len(told.pop("jobs")) == 3
    assert told == {"matched": 3, "matched_more": False, "dry_run": True, "interrupted": False, "became": {}}
    named = Job.objects.values_list("pk", flat=True)
    assert run(COMMAND, *named, "--dry-run") == ["3 jobs would be retried."]
    assert ready() == set()


def test_nothing_matches(run, answer):
    answer("")
    assert run(COMMAND, "--queue", "nosuch") == ["0 jobs match. Nothing was changed."]


def test_in_batches_each_job_once(run, run_json, monkeypatch):
    monkeypatch.setattr("conveyor_django.management.many.BATCH", 2)
    JobFactory.create_batch(5, failed=True)
    told = run_json(COMMAND, "--state", "failed", "--no-input")
    assert (told["matched"], told["became"]) == (5, {"retried": 5})


def test_what_ends_again_meanwhile_is_not_retried_again(monkeypatch):
    jobs = JobFactory.create_batch(3, failed=True)
    seen = []
    for count in selection.requeue_matching(Job.objects.all(), batch=1):
        seen.append(count)
        for job_id in ready():
            cancel(job_id)
    assert seen == [1] * len(jobs)


def test_those_that_changed_meanwhile_are_told(run, monkeypatch):
    jobs = JobFactory.create_batch(3, failed=True)
    really = conveyor_retry.requeue_matching

    def after_a_change(found, **options):
        Job.objects.filter(pk=jobs[0].pk).update(state="ready", finished_at=None)
        return really(found, **options)

    monkeypatch.setattr(conveyor_retry, "requeue_matching", after_a_change)
    assert run(COMMAND, "--state", "failed", "--no-input") == [
        "2 jobs retried.",
        "1 job of those that were counted had changed meanwhile, or somebody had them locked.",
    ]


def test_where_all_of_them_changed_meanwhile(run, monkeypatch):
    JobFactory(failed=True)
    monkeypatch.setattr(conveyor_retry, "requeue_matching", lambda _found, **_options: iter(()))
    assert run(COMMAND, "--state", "failed", "--no-input")[0] == "Nothing was changed."


def test_a_signal_stops_it_between_two_batches(run_json, monkeypatch):
    monkeypatch.setattr("conveyor_django.management.many.BATCH", 2)
    JobFactory.create_batch(5, failed=True)
    really = conveyor_retry.requeue_matching

    def interrupted(found, **options):
        for count in really(found, **options):
            signal.raise_signal(signal.SIGINT)
            yield count

    monkeypatch.setattr(conveyor_retry, "requeue_matching", interrupted)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(CommandError, match="Stopped by a signal between two batches") as caught:
        run_json(COMMAND, "--state", "failed", "--no-input")
    assert caught.value.returncode == 130
    assert '"interrupted": true, "became": {"retried": 2}' in run_json.printed
    assert len(ready()) == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_a_second_signal_ends_it_as_ever(run, monkeypatch):
    JobFactory(failed=True)

    before = signal.getsignal(signal.SIGINT)

    def twice(found, **options):
        signal.raise_signal(signal.SIGINT)
        # The interpreter calls the handler when it likes to; two signals before that are one.
        wait_until(lambda: signal.getsignal(signal.SIGINT) is before, "the first is handled")
        signal.raise_signal(signal.SIGINT)
        yield 0

    monkeypatch.setattr(conveyor_retry, "requeue_matching", twice)
    with pytest.raises(KeyboardInterrupt):
        run(COMMAND, "--state", "failed", "--no-input")
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.django_db(transaction=True)
def test_every_database_unless_one_is_named(run, answer, capsys, second):
    """Both aliases are one database here: what is made ready on the first is no longer there on the second."""
    job = JobFactory(failed=True)
    assert [line.split()[0] for line in run(COMMAND, "--state", "failed", "--dry-run")[:-1]] == [
        f"default:{job.pk}", f"second:{job.pk}",
    ]  # fmt: skip
    answer("y\n")
    call_command(COMMAND, "--state", "failed")
    assert capsys.readouterr().err == "Retry 2 jobs (default: 1 job, second: 1 job)? [y/N] "
    assert ready() == {job.pk}
    JobFactory(failed=True)
    assert run(COMMAND, "--state", "failed", "--database", second, "--no-input") == ["1 job retried."]


@pytest.mark.django_db(transaction=True)
def test_a_bare_id_is_of_the_database_that_is_named(run_json, second):
    job = JobFactory(failed=True)
    assert run_json(COMMAND, job.pk, "--database", second)["retried"] == [f"second:{job.pk}"]
    with pytest.raises(CommandError, match=f"'default:{job.pk}' is not of database 'second'"):
        run_json(COMMAND, f"default:{job.pk}", "--database", second)


def test_a_database_that_is_none(run, settings):
    with pytest.raises(CommandError, match="'nowhere' is not in DATABASES"):
        run(COMMAND, "--state", "failed", "--database", "nowhere")


@pytest.mark.django_db(transaction=True)
def test_a_database_where_no_queue_lives(run, second, settings):
    settings.CONVEYOR = {}
    with pytest.raises(CommandError, match="No queue lives on database 'second': CONVEYOR names 'default'"):
        run(COMMAND, "--state", "failed", "--database", second)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--queue", "", "--queue '' is no queue's name"),
        ("--queue", "a\x00", "is no queue's name"),
        ("--task", "", "--task '' finds nothing"),
        ("--error", "\ud800", "finds nothing"),
        ("--state", "running", "invalid choice: 'running'"),
        ("--rate", "0", "must be a number above 0, of jobs in a second, not '0'"),
        ("--since", "yesterday", "or how long ago it is, such as 90s, 15m or 2d, not 'yesterday'"),
    ],
)
def test_values_that_are_none(run, option, value, says):
    with pytest.raises(CommandError) as caught:
        run(COMMAND, option, value, "--no-input")
    assert says in str(caught.value)
