"""The buttons of the admin: asked before, done once, said exactly, written to the log."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.urls import reverse

from conveyor_django import cancel
from conveyor_django.models import Cron, Job, Queue
from conveyor_django.operate import acting

from ..support.connections import Connect
from ..support.factories import CronFactory, JobFactory, PayloadFactory, QueueFactory, in_seconds
from .admin_jobs import LIST, page_of
from .pressing import ANYTHING, CRONS, MATCHING, QUEUES, button, choose, confirm, edit, log, press, states, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]


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
