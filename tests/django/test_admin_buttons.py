"""The buttons of the admin: asked before, done once, said exactly, written to the log."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from conveyor_django import cancel
from conveyor_django.admin import matching
from conveyor_django.models import Cron, Job, Queue
from conveyor_django.operate import acting

from ..support.connections import Connect
from ..support.factories import CronFactory, JobFactory, PayloadFactory, QueueFactory, in_seconds
from .admin_jobs import LIST, page_of

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

QUEUES = reverse("admin:conveyor_queue_changelist")
CRONS = reverse("admin:conveyor_cron_changelist")
MATCHING = reverse("admin:conveyor_job_retry_matching")
ANYTHING = "tests.support.produce.anything"


def button(row: Any, name: str) -> str:
    return reverse(f"admin:conveyor_{row._meta.model_name}_do", args=[row.pk, name])


def edit(job: Job) -> str:
    return reverse("admin:conveyor_job_edit", args=[job.pk])


def press(client: Any, url: str, token: str | None = None, **data: Any) -> str:
    """Answer a button's question; return what the next page says."""
    given = {"confirmed": "yes", "token": token or uuid.uuid4().hex} | data
    return told(client.post(url, given, follow=True))


def choose(client: Any, name: str, *rows: Any, url: str = LIST, **data: Any) -> Any:
    """Do an action of a list."""
    return client.post(url, {"action": name, "_selected_action": [row.pk for row in rows]} | data, follow=True)


def confirm(client: Any, name: str, *rows: Any, url: str = LIST) -> str:
    return told(choose(client, name, *rows, url=url, confirmed="yes", token=uuid.uuid4().hex))


def told(response: Any) -> str:
    assert response.status_code == 200
    return " ".join(str(message) for message in response.context["messages"])


def states(*jobs: Job) -> list[str]:
    found = dict(Job.objects.values_list("pk", "state"))
    return [found[job.pk] for job in jobs]


def log() -> list[tuple[str, str]]:
    """Return the object and the message of each entry of the admin's log, the oldest first."""
    return [(entry.object_id, entry.get_change_message()) for entry in LogEntry.objects.order_by("pk")]


class TestOneJob:
    @pytest.mark.parametrize(
        ("name", "before", "after", "says", "logged"),
        [
            ("retry", "failed", "ready", "1 job was made ready again.", "Retried."),
            ("retry", "cancelled", "ready", "1 job was made ready again.", "Retried."),
            ("cancel", "ready", "cancelled", "1 job was cancelled.", "Cancelled."),
            ("cancel", "scheduled", "cancelled", "1 job was cancelled.", "Cancelled."),
            ("cancel", "blocked", "cancelled", "1 job was cancelled.", "Cancelled."),
            ("cancel", "running", "running", "1 job was cancelled (1 running, and asked to stop).", "Cancelled."),
            ("run-now", "scheduled", "ready", "1 job was made ready.", "Made ready before its time."),
        ],
    )
    def test_a_button_is_pressed(self, admin_client, admin_user, name, before, after, says, logged):
        job, other = (JobFactory(**{} if before == "ready" else {before: True}) for _ in range(2))
        assert press(admin_client, button(job, name)) == says
        assert states(job, other) == [after, before]
        assert log() == [(str(job.pk), logged)]
        assert LogEntry.objects.get().user == admin_user

    def test_the_question_changes_nothing(self, admin_client):
        job = JobFactory(failed=True)
        response = admin_client.get(button(job, "retry"))
        assert (response.status_code, states(job), log()) == (200, ["failed"], [])
        text = response.content.decode()
        assert "1 chosen" in text
        assert 'value="Retry"' in text
        assert f'href="{page_of(job)}"' in text

    @pytest.mark.parametrize("name", ["retry", "run-now"])
    def test_where_it_cannot_be_done_the_question_says_so(self, admin_client, name):
        text = admin_client.get(button(JobFactory(running=True), name)).content.decode()
        assert "0 of 1 chosen; the others stay as they are" in text
        assert 'type="submit" class="default"' not in text

    @pytest.mark.parametrize(
        ("name", "before", "reason"),
        [("retry", {"failed": True}, "ready"), ("run-now", {"scheduled": True}, "ready"),
         ("cancel", {}, "cancelled"), ("cancel", {"running": True}, "asked to stop before, and still running")],
    )  # fmt: skip
    def test_a_second_click_does_nothing_more(self, admin_client, name, before, reason):
        job = JobFactory(**before)
        token = uuid.uuid4().hex
        press(admin_client, button(job, name), token)
        rows = list(Job.objects.values())
        says = press(admin_client, button(job, name), token)
        assert says.startswith("0 jobs were ")
        assert says.endswith(f". 1 was not (1 {reason}).")
        assert list(Job.objects.values()) == rows
        assert len(log()) == 1

    def test_a_job_that_is_not_there(self, admin_client):
        for url in (button(Job(pk=404), "retry"), edit(Job(pk=404)), button(Job(pk="x"), "retry")):
            for response in (admin_client.get(url), admin_client.post(url)):
                assert (response.status_code, response.url) == (302, reverse("admin:index"))

    def test_what_there_is_no_button_for(self, admin_client):
        assert admin_client.get(button(JobFactory(), "delete")).status_code == 404

    @pytest.mark.parametrize("token", ["", "x", "0" * 33])
    def test_a_form_that_is_not_complete(self, admin_client, token):
        job = JobFactory(failed=True)
        response = admin_client.post(button(job, "retry"), {"token": token}, follow=True)
        assert "nothing was done" in told(response)
        assert (states(job), log()) == (["failed"], [])

    @pytest.mark.parametrize(
        ("traits", "labels"),
        [
            ({"failed": True}, ["Retry", "Retry with other arguments"]),
            ({"cancelled": True}, ["Retry", "Retry with other arguments"]),
            ({"succeeded": True}, ["Retry with other arguments"]),
            ({"scheduled": True}, ["Run now", "Cancel"]),
            ({"running": True}, ["Cancel"]),
            ({"blocked": True}, ["Cancel"]),
            ({}, ["Cancel"]),
        ],
    )
    def test_the_page_has_the_buttons_that_make_sense(self, admin_client, traits, labels):
        response = admin_client.get(page_of(JobFactory(**traits)))
        assert [each["label"] for each in response.context["conveyor_buttons"]] == labels
        for each in response.context["conveyor_buttons"]:
            assert f'<a href="{each["url"]}">{each["label"]}</a>' in response.content.decode()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_a_row_that_somebody_holds_is_told_and_not_waited_for_long(
        self, admin_client, connect: Connect, monkeypatch
    ):
        monkeypatch.setattr("conveyor_django.admin.buttons.PATIENCE", 0.0)
        job, other = JobFactory(failed=True), JobFactory(failed=True)
        with connect() as holder, holder.transaction():
            holder.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (job.pk,))
            says = confirm(admin_client, "retry", job, other)
        assert says == "1 job was made ready again. 1 was not (1 locked by somebody at the moment; try again)."
        assert states(job, other) == ["failed", "ready"]
        assert [key for key, _ in log()] == [str(other.pk)]

    def test_one_that_is_released_in_time_is_done(self, connect: Connect, monkeypatch):
        job = JobFactory(failed=True)
        holder = connect()
        holder.execute("BEGIN")
        holder.execute("SELECT FROM conveyor_job WHERE id = %s FOR UPDATE", (job.pk,))
        pauses: list[float] = []

        def let_go(pause: float) -> None:
            pauses.append(pause)
            holder.execute("ROLLBACK")

        monkeypatch.setattr(acting.time, "sleep", let_go)
        assert acting.act_on(acting.RETRY, job.pk, "default").done
        assert len(pauses) == 1

    def test_it_is_undone_where_the_log_cannot_be_written(self, admin_client, monkeypatch):
        job = JobFactory(failed=True)

        def broken(*_: Any) -> None:
            raise RuntimeError("no log")

        monkeypatch.setattr("conveyor_django.admin.jobs.JobAdmin.log_change", broken)
        with pytest.raises(RuntimeError, match="no log"):
            press(admin_client, button(job, "retry"))
        assert states(job) == ["failed"]


class TestChosen:
    def test_the_question_counts_those_that_it_is_for(self, admin_client):
        jobs = [JobFactory(failed=True), JobFactory(cancelled=True), JobFactory(succeeded=True)]
        response = choose(admin_client, "retry", *jobs)
        text = response.content.decode()
        assert "2 of 3 chosen; the others stay as they are" in text
        assert states(*jobs) == ["failed", "cancelled", "succeeded"]
        assert [int(key) for key in re.findall(r'name="_selected_action" value="(\d+)"', text)] == [j.pk for j in jobs]

    def test_it_says_how_many_were_and_how_many_were_not(self, admin_client):
        jobs = [JobFactory(failed=True), JobFactory(cancelled=True), JobFactory(succeeded=True), JobFactory()]
        gone = JobFactory(failed=True)
        Job.objects.filter(pk=gone.pk).delete()
        says = confirm(admin_client, "retry", *jobs, gone)
        assert says.startswith("2 jobs were made ready again. 3 were not (")
        assert {"1 succeeded", "1 ready", "1 not there any more"} == set(re.findall(r"1 [a-z ]+", says))
        assert states(*jobs) == ["ready", "ready", "succeeded", "ready"]
        assert [key for key, _ in log()] == [str(job.pk) for job in jobs[:2]]

    def test_what_changed_since_the_question_is_told(self, admin_client):
        jobs = [JobFactory(), JobFactory()]
        choose(admin_client, "cancel", *jobs)
        cancel(jobs[0].pk)
        assert confirm(admin_client, "cancel", *jobs) == "1 job was cancelled. 1 was not (1 cancelled)."

    def test_all_that_match_cannot_be_meant_by_an_action(self, admin_client):
        jobs = JobFactory.create_batch(2, failed=True)
        data = {"action": "retry", "select_across": "1", "_selected_action": [jobs[0].pk], "confirmed": "yes"}
        admin_client.post(LIST, data | {"token": uuid.uuid4().hex})
        assert states(*jobs) == ["ready", "failed"]

    @pytest.mark.parametrize("keys", [["x"], ["1; DROP TABLE conveyor_job"], [""], ["9" * 30]])
    def test_keys_that_are_none(self, admin_client, keys):
        job = JobFactory(failed=True)
        data = {"action": "retry", "_selected_action": keys, "confirmed": "yes", "token": uuid.uuid4().hex}
        assert admin_client.post(LIST, data, follow=True).status_code == 200
        assert states(job) == ["failed"]

    def test_nothing_is_done_without_a_csrf_token(self, admin_user):
        from django.test import Client

        client = Client(enforce_csrf_checks=True)
        client.force_login(admin_user)
        job = JobFactory(failed=True)
        data = {"confirmed": "yes", "token": uuid.uuid4().hex}
        assert client.post(button(job, "retry"), data).status_code == 403
        assert client.post(edit(job), {"args": "[]", "kwargs": "{}", "number": "1"}).status_code == 403
        assert client.post(f"{MATCHING}?state=failed", {"asked": in_seconds(1).isoformat()}).status_code == 403
        assert client.post(LIST, data | {"action": "retry", "_selected_action": job.pk}).status_code == 403
        assert (states(job), Job.objects.count()) == (["failed"], 1)


class TestOtherArguments:
    def job(self, **fields: Any) -> Job:
        job = JobFactory(
            **{"failed": True, "task": ANYTHING, "payload": None, "queue": "orders", "priority": 5} | fields
        )
        PayloadFactory(job=job, args=[1, "ü"], kwargs={"a": [2]})
        return job

    def test_a_new_job_and_the_old_one_stays(self, admin_client):
        old = self.job(max_attempts=9, concurrency_key="k", idempotency_key="mine")
        before = Job.objects.values().get()
        text = admin_client.get(edit(old)).content.decode()
        assert "&quot;ü&quot;" in text
        response = admin_client.post(edit(old), {"args": "[3]", "kwargs": '{"b": 4}', "number": "1"}, follow=True)
        new = Job.objects.exclude(pk=old.pk).get()
        assert (new.payload.args, new.payload.kwargs, new.state) == ([3], {"b": 4}, "ready")
        assert (new.queue, new.priority, new.max_attempts, new.concurrency_key, new.task) == (
            "orders", 5, 9, "k", ANYTHING,
        )  # fmt: skip
        assert Job.objects.filter(pk=old.pk).values().get() == before
        # Each leads to the other.
        assert page_of(old) in response.content.decode()
        assert f'<a href="{page_of(new)}">job {new.pk}</a>' in admin_client.get(page_of(old)).content.decode()
        assert f'<a href="{page_of(old)}">job {old.pk}</a>' in admin_client.get(page_of(new)).content.decode()
        assert log() == [
            (str(old.pk), f"Enqueued anew with other arguments, as job {new.pk}."),
            (str(new.pk), f"Made from job {old.pk}, with other arguments."),
        ]

    def test_sent_twice_it_is_one_job(self, admin_client):
        old = self.job()
        data = {"args": "[3]", "kwargs": "{}", "number": "1"}
        admin_client.post(edit(old), data)
        assert "the form was sent twice" in told(admin_client.post(edit(old), data, follow=True))
        assert (Job.objects.count(), len(log())) == (2, 2)

    def test_with_other_arguments_again_it_is_another_job(self, admin_client):
        old = self.job()
        for number in (1, 2):
            form = admin_client.get(edit(old)).context["form"]
            assert form["number"].value() == number
            admin_client.post(edit(old), {"args": f"[{number}]", "kwargs": "{}", "number": number})
        assert Job.objects.count() == 3

    def test_an_older_form_is_refused(self, admin_client):
        old = self.job()
        admin_client.post(edit(old), {"args": "[3]", "kwargs": "{}", "number": "1"})
        response = admin_client.post(edit(old), {"args": "[4]", "kwargs": "{}", "number": "1"})
        assert "A job was made from it meanwhile" in response.content.decode()
        assert Job.objects.count() == 2

    @pytest.mark.parametrize(
        ("field", "value", "says"),
        [
            ("args", "{}", "It must be a list"),
            ("args", "[", "Enter a valid JSON"),
            ("args", "[NaN]", "args[0] is nan"),
            ("args", '["\\u0000"]', "cannot store"),
            ("args", "[" * 100_000, "nested too deeply"),
            ("args", "[" + "1" * 5_000 + "]", "It cannot be read"),
            ("args", '["' + "x" * 2_000_000 + '"]', "bytes"),
            ("kwargs", "[]", "It must be an object"),
            ("kwargs", '"</script><script>alert(1)</script>"', "It must be an object"),
            ("number", "0", "greater than or equal to 1"),
            ("number", "x", "Enter a whole number"),
        ],
        ids=lambda value: value[:20],
    )
    def test_what_cannot_be_enqueued_is_refused_with_the_reason(self, admin_client, field, value, says):
        old = self.job()
        response = admin_client.post(edit(old), {"args": "[]", "kwargs": "{}", "number": "1"} | {field: value})
        assert response.status_code == 200
        errors = response.context["form"].errors
        assert list(errors) == [field]
        assert says in errors[field][0]
        # What was typed is still there, as text.
        assert "<script>alert" not in response.content.decode()
        assert Job.objects.count() == 1

    def test_arguments_that_do_not_fit_the_function(self, admin_client):
        old = self.job(task="tests.support.produce.plain_add")
        response = admin_client.post(edit(old), {"args": "[]", "kwargs": '{"c": 1}', "number": "1"})
        assert "missing a required argument" in response.context["form"].errors["args"][0]

    def test_a_plain_task_of_the_framework(self, admin_client):
        old = self.job(task="tests.support.produce.plain_add")
        admin_client.post(edit(old), {"args": "[3]", "kwargs": "", "number": "1"})
        assert Job.objects.exclude(pk=old.pk).get().payload.args == [3]

    def test_a_task_that_is_gone(self, admin_client):
        response = admin_client.post(edit(self.job(task="shop.gone")), {"args": "[]", "kwargs": "{}", "number": "1"})
        assert "The task shop.gone is not in this code" in response.content.decode()

    @pytest.mark.parametrize("state", ["ready", "running", "scheduled", "blocked"])
    def test_only_of_a_job_that_has_ended(self, admin_client, state):
        job = JobFactory(**{} if state == "ready" else {state: True})
        for response in (admin_client.get(edit(job), follow=True), admin_client.post(edit(job), follow=True)):
            assert "its arguments cannot be changed" in told(response)
        assert Job.objects.count() == 1

    def test_without_the_arguments_of_old(self, admin_client):
        assert "not there any more" in told(admin_client.get(edit(JobFactory(failed=True, payload=None)), follow=True))


class TestAllThatMatch:
    def asked(self, client: Any, **query: str) -> tuple[str, dict[str, str]]:
        response = client.get(MATCHING, query)
        assert response.status_code == 200
        return response.content.decode(), {"asked": response.context["asked"]}

    def retry(self, client: Any, data: dict[str, str], query: str = "?state=failed") -> str:
        return told(client.post(MATCHING + query, data, follow=True))

    def test_those_that_match_and_no_others(self, admin_client):
        jobs = JobFactory.create_batch(3, failed=True)
        others = [JobFactory(failed=True, queue="other"), JobFactory(cancelled=True), JobFactory(succeeded=True)]
        text, data = self.asked(admin_client, state="failed", queue="default")
        assert "3 jobs match" in text
        assert self.retry(admin_client, data, "?state=failed&queue=default") == "3 jobs were made ready again."
        assert states(*jobs) == ["ready"] * 3
        assert states(*others) == ["failed", "cancelled", "succeeded"]
        entry = LogEntry.objects.get()
        assert (entry.object_repr, entry.change_message) == (
            "jobs with queue default, state failed", "Retried 3 of them.",
        )  # fmt: skip

    def test_what_fails_after_the_question_is_not_meant(self, admin_client):
        first = JobFactory(failed=True)
        _, data = self.asked(admin_client, state="failed")
        late = JobFactory(failed=True, finished_at=in_seconds(60))
        assert self.retry(admin_client, data) == "1 job was made ready again."
        # Nor what fails again before the second click.
        Job.objects.filter(pk=first.pk).delete()
        JobFactory(pk=first.pk, failed=True, finished_at=in_seconds(60))
        assert self.retry(admin_client, data) == "0 jobs were made ready again."
        assert states(first, late) == ["failed", "failed"]

    def test_in_batches_up_to_a_bound(self, admin_client, monkeypatch):
        monkeypatch.setattr(matching, "MOST", 4)
        monkeypatch.setattr(matching, "BATCH", 2)
        monkeypatch.setattr("conveyor_django.operate.selection.requeue_matching.__kwdefaults__", {"batch": 2})
        jobs = JobFactory.create_batch(5, failed=True)
        text, data = self.asked(admin_client, state="failed")
        assert "More than 4 jobs match" in text
        assert self.retry(admin_client, data) == "4 jobs were made ready again. There are more: ask again."
        assert states(*jobs) == ["ready"] * 4 + ["failed"]

    @pytest.mark.parametrize("query", ["", "?state=succeeded", "?state=x", "?queue=default"])
    def test_only_where_all_of_them_can_be_retried(self, admin_client, query):
        job = JobFactory(failed=True)
        for ask in (admin_client.get, admin_client.post):
            response = ask(MATCHING + query, follow=True)
            assert "Choose the state failed or cancelled" in told(response)
        assert states(job) == ["failed"]
        assert "Retry all that match" not in admin_client.get(LIST + query).content.decode()

    def test_the_list_has_the_button(self, admin_client):
        text = admin_client.get(LIST, {"state": "failed", "queue": "a", "before": "9"}).content.decode()
        assert f'<a href="{MATCHING}?queue=a&amp;state=failed">Retry all that match</a>' in text

    @pytest.mark.parametrize("asked", ["", "x", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z"])
    def test_a_form_that_is_not_complete(self, admin_client, asked):
        job = JobFactory(failed=True)
        assert "nothing was done" in self.retry(admin_client, {"asked": asked})
        assert states(job) == ["failed"]

    def test_a_filter_that_is_none(self, admin_client):
        assert admin_client.get(MATCHING, {"state": "failed", "task__contains": "x"}).status_code == 400
        assert "before must be a job's id" in told(admin_client.get(MATCHING, {"before": "x"}, follow=True))


class TestQueues:
    @pytest.mark.parametrize("has_settings", [True, False])
    def test_paused_and_resumed(self, admin_client, has_settings):
        queue = QueueFactory(name="orders", soft_cap=3) if has_settings else Queue(name="orders")
        for name, says, paused in (
            ("pause", "1 queue was paused.", True),
            ("pause", "0 queues were paused. 1 was not (1 paused already).", True),
            ("resume", "1 queue was resumed.", False),
            ("resume", "0 queues were resumed. 1 was not (1 not paused).", False),
        ):
            assert press(admin_client, button(queue, name)) == says
            assert Queue.objects.values_list("paused", "soft_cap").get() == (paused, 3 if has_settings else None)
        assert log() == [("orders", "Paused."), ("orders", "Resumed.")]

    def test_those_that_were_chosen(self, admin_client):
        queues = [QueueFactory(name="default"), QueueFactory(name="orders", paused=True), QueueFactory(name="left")]
        assert confirm(admin_client, "pause", *queues[:2], url=QUEUES) == (
            "1 queue was paused. 1 was not (1 paused already)."
        )
        assert dict(Queue.objects.values_list("name", "paused")) == {"default": True, "orders": True, "left": False}

    def test_what_is_no_queue_is_refused_with_the_reason(self, admin_client):
        says = press(admin_client, button(Queue(name="odrers"), "pause"))
        assert "Did you mean 'orders'?" in says
        assert (Queue.objects.count(), log()) == (0, [])


class TestCron:
    @pytest.mark.parametrize("enabled", [True, False])
    def test_it_is_run_now_beside_its_ticks(self, admin_client, enabled):
        entry = CronFactory(name="report", args=[1], kwargs={"a": 2}, queue="orders", enabled=enabled)
        before = Cron.objects.values().get()
        says = press(admin_client, button(entry, "run"))
        job = Job.objects.get()
        assert says == f"1 cron entry was enqueued (1 as job {job.pk})."
        assert (job.task, job.queue, job.payload.args, job.payload.kwargs) == (ANYTHING, "orders", [1], {"a": 2})
        assert Cron.objects.values().get() == before
        assert log() == [("report", f"Run by hand. It enqueued job {job.pk}.")]

    def test_a_second_click_does_nothing_more_and_a_second_wish_does(self, admin_client):
        entry = CronFactory(name="report")
        token = uuid.uuid4().hex
        press(admin_client, button(entry, "run"), token)
        assert "the form was sent twice" in press(admin_client, button(entry, "run"), token)
        assert (Job.objects.count(), len(log())) == (1, 1)
        press(admin_client, button(entry, "run"))
        assert Job.objects.count() == 2

    def test_one_that_cannot_run_says_why_and_the_others_do(self, admin_client):
        good, bad = CronFactory(), CronFactory()
        Cron.objects.filter(pk=bad.pk).update(task="shop.gone")
        says = confirm(admin_client, "run", good, bad, url=CRONS)
        assert says.startswith("1 cron entry was enqueued (1 as job ")
        assert "1 was not (1 refused, since there is no such task: there is no module 'shop'" in says
        assert Job.objects.count() == 1

    def test_the_longest_name(self, admin_client):
        entry = CronFactory(name="x" * 200)
        press(admin_client, button(entry, "run"))
        assert len(Job.objects.get().idempotency_key) <= 255


def test_hostile_values_stay_text(admin_client):
    hostile = "</script><script>alert('x')</script>"
    job = JobFactory(failed=True, task=hostile, queue=hostile, payload=None)
    PayloadFactory(job=job, args=[hostile], kwargs={hostile: hostile})
    matching_url = f"{MATCHING}?state=failed&task=%3Cscript%3Ealert(1)"
    for url in (button(job, "retry"), edit(job), matching_url, button(Queue(name=hostile), "pause")):
        text = admin_client.get(url).content.decode()
        assert "<script>alert(" not in text


def test_the_pages_need_nothing_inline(admin_client):
    """They work under ``default-src 'self'``."""
    job, entry = JobFactory(failed=True), CronFactory()
    urls = [button(job, "retry"), edit(job), f"{MATCHING}?state=failed", button(Queue(name="orders"), "pause"),
            button(entry, "run"), LIST, page_of(job)]  # fmt: skip
    for url in urls:
        text = admin_client.get(url).content.decode()
        assert not re.search(r"<style|<script(?![^>]*\ssrc=)|\son\w+=|javascript:", text), url
