"""Retrying in the admin, with other arguments, and all that match."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry

from conveyor_django.admin import matching
from conveyor_django.models import Job

from ..support.factories import JobFactory, PayloadFactory, in_seconds
from .admin_jobs import LIST, page_of
from .pressing import ANYTHING, MATCHING, edit, log, states, told

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]


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

    @pytest.mark.parametrize(
        "asked",
        ["", "x", "2026-01-01", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59-23:59"],
    )
    def test_a_form_that_is_not_complete(self, admin_client, asked):
        job = JobFactory(failed=True)
        assert "nothing was done" in self.retry(admin_client, {"asked": asked})
        assert states(job) == ["failed"]

    def test_a_filter_that_is_none(self, admin_client):
        assert admin_client.get(MATCHING, {"state": "failed", "task__contains": "x"}).status_code == 400
        assert "before must be a job's id" in told(admin_client.get(MATCHING, {"before": "x"}, follow=True))
