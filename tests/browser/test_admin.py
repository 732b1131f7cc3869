"""The admin in a browser: a failed job is found, read, retried and seen to succeed; who may only look is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from conveyor_django.models import Job

from ..support import jobs
from ..support.factories import CronFactory, JobFactory, QueueFactory
from ..support.processes import Desk, running
from ..support.waits import wait_until
from .looking import Visitor

LIST = "/admin/conveyor/job/"
User = Callable[..., str]


def state_of(job: Job) -> str:
    return Job.objects.values_list("state", flat=True).get(pk=job.pk)


def test_a_failed_job_is_found_read_retried_and_seen_to_succeed(visitor: Visitor, user: User, tmp_path: Path) -> None:
    desk, page = Desk(tmp_path), visitor.page
    JobFactory.create_batch(3, succeeded=True)
    jobs.fails_until_go.enqueue(desk.folder, "parcel")
    job = Job.objects.get(task__endswith="fails_until_go")
    with running("conveyor_worker"):
        wait_until(lambda: state_of(job) == "failed", "the job has failed")
        visitor.log_in(user())
        visitor.follow("Jobs")
        visitor.follow("failed")
        expect(page.locator("#result_list tbody tr")).to_have_count(1)
        visitor.follow(str(job.pk))

        expect(page.locator("#content")).to_contain_text("parcel is not ready yet")
        for summary in page.locator("#content summary", has_text="parcel is not ready yet").all():
            if not summary.evaluate("summary => summary.parentElement.open"):
                summary.click()
        expect(page.locator("#content")).to_contain_text("Traceback (most recent call last)")

        desk.go()
        visitor.follow("Retry")
        expect(page.locator("#content")).to_contain_text("1 chosen")
        visitor.press("Retry")
        expect(page.locator(".messagelist")).to_contain_text("1 job was made ready again.")
        wait_until(lambda: state_of(job) == "succeeded", "the job has succeeded")
        page.reload()
        expect(page.locator("#content")).to_contain_text("succeeded")
        expect(page.get_by_role("link", name="Retry", exact=True)).to_have_count(0)


def test_those_that_were_ticked_are_cancelled(visitor: Visitor, user: User) -> None:
    ticked, left = JobFactory.create_batch(2), JobFactory()
    visitor.log_in(user())
    visitor.go(LIST)
    for job in ticked:
        visitor.page.locator(f'input[name="_selected_action"][value="{job.pk}"]').check()
    visitor.page.locator('select[name="action"]').select_option("cancel")
    visitor.press("Go")
    expect(visitor.page.locator("#content")).to_contain_text("2 chosen")
    visitor.press("Cancel")
    expect(visitor.page.locator(".messagelist")).to_contain_text("2 jobs were cancelled.")
    assert [state_of(job) for job in (*ticked, left)] == ["cancelled", "cancelled", "ready"]


def test_a_queue_is_paused_from_the_list_of_its_jobs(visitor: Visitor, user: User) -> None:
    page = visitor.page
    JobFactory(queue="orders"), JobFactory(queue="default")
    visitor.log_in(user())
    visitor.go(LIST)
    visitor.follow("orders")
    for button, before, after in (("Pause", "not paused", "is paused"), ("Resume", "is paused", "not paused")):
        expect(page.locator(".conveyor-queue")).to_contain_text(before)
        visitor.assert_accessible()
        visitor.follow(button)
        visitor.press(button)
        expect(page.locator(".messagelist")).to_contain_text(f"1 queue was {button.lower()}d.")
        expect(page.locator(".conveyor-queue")).to_contain_text(after)
        # The list is the same one still.
        expect(page.locator("#result_list tbody tr")).to_have_count(1)


def test_who_may_only_look_is_refused(visitor: Visitor, user: User) -> None:
    job, page = JobFactory(failed=True), visitor.page
    visitor.log_in(user("view_job"))
    visitor.go(f"{LIST}?queue={job.queue}")
    expect(page.locator(".conveyor-queue")).to_contain_text("not paused")
    expect(page.get_by_role("link", name="Pause", exact=True)).to_have_count(0)
    expect(page.locator('select[name="action"]')).to_have_count(0)
    visitor.go(f"{LIST}{job.pk}/change/")
    expect(page.get_by_role("link", name=re.compile("Retry|Cancel|Run"))).to_have_count(0)
    for name in ("retry", "cancel", "run-now", "edit"):
        assert visitor.go(f"{LIST}{job.pk}/do/{name}/").status == 403
    for path in (f"{LIST}retry-matching/?state=failed", f"/admin/conveyor/queue/{job.queue}/do/pause/?jobs=queue"):
        assert visitor.go(path).status == 403
    assert state_of(job) == "failed"
    # The browser says of each page that was refused that it was refused, and nothing else.
    assert len(visitor.complaints) == 6
    assert all("403" in complaint for complaint in visitor.complaints)
    visitor.complaints.clear()


# Every page that axe is to look at: a name, and its address, once the rows of `_rows` are there.
PAGES = {
    "list": LIST,
    "list, filtered": f"{LIST}?state=failed",
    "list, nothing found": f"{LIST}?q=nonsense",
    "job": f"{LIST}{{job}}/change/",
    "retry": f"{LIST}{{job}}/do/retry/",
    "edit": f"{LIST}{{job}}/do/edit/",
    "retry all": f"{LIST}retry-matching/?state=failed",
    "queues": "/admin/conveyor/queue/",
    "pause": "/admin/conveyor/queue/orders/do/pause/",
    "cron": "/admin/conveyor/cron/",
    "run cron": "/admin/conveyor/cron/report/do/run/",
}


@pytest.mark.parametrize("path", PAGES.values(), ids=list(PAGES))
def test_a_page_is_accessible(visitor: Visitor, user: User, path: str) -> None:
    job = JobFactory(failed=True)
    QueueFactory(name="orders")
    CronFactory(name="report")
    visitor.log_in(user())
    assert visitor.go(path.format(job=job.pk)).status == 200
    visitor.assert_accessible()
