"""GET /jobs: pages by cursor, filters, and whose jobs they are."""

from __future__ import annotations

import base64
import datetime as dt
import itertools
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from conveyor_django.api import listing
from conveyor_django.api.inputs import MAX_PAGE
from conveyor_django.models import Job
from conveyor_django.operate import walk

from ..support.factories import JobFactory, in_seconds
from .client import Api, answer, pointers, problem, with_token

pytestmark = pytest.mark.django_db


def ids(body: dict) -> list[str]:
    return [job["id"] for job in body["jobs"]]


def listed(api: Api, **query: object) -> list[str]:
    """Return the ids on every page."""
    found: list[str] = []
    cursor = None
    while True:
        body = answer(api.get("/jobs", query | ({"cursor": cursor} if cursor else {})))
        found += ids(body)
        cursor = body["next"]
        if cursor is None:
            return found


def names(*jobs) -> list[str]:
    return [f"default:{job.pk}" for job in jobs]


def test_pages_are_the_whole_the_newest_first(api: Api) -> None:
    jobs = [JobFactory() for _ in range(7)]
    everything = names(*reversed(jobs))
    for limit in (1, 2, 3, 6, 7, 8):
        assert listed(api, limit=limit) == everything
    first = answer(api.get("/jobs", {"limit": 7}))
    assert first["next"] is None


def test_a_page_has_fifty_jobs_where_nothing_is_said_and_two_hundred_at_most(api: Api) -> None:
    JobFactory.create_batch(201)
    sizes = [len(ids(answer(api.get("/jobs", query)))) for query in ({}, {"limit": MAX_PAGE})]
    assert sizes == [50, 200]


def test_a_job_that_comes_meanwhile_shifts_no_page(api: Api) -> None:
    jobs = [JobFactory() for _ in range(4)]
    first = answer(api.get("/jobs", {"limit": 2}))
    JobFactory()
    second = answer(api.get("/jobs", {"limit": 2, "cursor": first["next"]}))
    assert ids(first) + ids(second) == names(*reversed(jobs))


def test_filters(api: Api) -> None:
    ready, failed, other = JobFactory(), JobFactory(failed=True), JobFactory(queue="orders", task="a.b")
    old = JobFactory(cancelled=True, created_at=in_seconds(-3600))
    assert listed(api, state="failed") == names(failed)
    assert listed(api, state=["failed", "cancelled"]) == names(old, failed)
    assert listed(api, queue="orders") == names(other)
    assert listed(api, queue=["orders", "default"], limit=1) == names(old, other, failed, ready)
    assert listed(api, task="a.b") == names(other)
    assert listed(api, task="a.b", queue="default") == []
    hour_ago = (dt.datetime.now(dt.UTC) - dt.timedelta(minutes=30)).isoformat()
    assert listed(api, created_before=hour_ago) == names(old)
    assert listed(api, created_after=hour_ago) == names(other, failed, ready)
    just_then = failed.created_at.isoformat()
    assert listed(api, created_after=just_then) == names(other)
    assert listed(api, created_before=just_then) == names(old, ready)


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ({"state": "done"}, "state"),
        ({"limit": 0}, "limit"),
        ({"limit": 201}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"limit": "1e400"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"limit": [1, 2]}, "limit"),
        ({"limit": "1_0"}, "limit"),
        ({"limit": "+3"}, "limit"),
        ({"limit": "3.0"}, "limit"),
        ({"limit": " 5"}, "limit"),
        ({"limit": "5\n"}, "limit"),
        ({"limit": "٣"}, "limit"),
        ({"task": ["a", "b"]}, "task"),
        ({"task": "a\x00b"}, "task"),
        ({"queue": "a\x00b"}, "queue"),
        ({"queue": ""}, "queue"),
        ({"created_after": "yesterday"}, "created_after"),
        ({"created_after": "5"}, "created_after"),
        ({"created_after": "2030-01-01T00:00:00"}, "created_after"),
        ({"created_before": "0001-01-01T00:00:00+14:00"}, "created_before"),
        ({"created_before": "99999-01-01T00:00:00Z"}, "created_before"),
        ({"colour": "red"}, "colour"),
        ({"order_by": "payload"}, "order_by"),
        ({"state__gt": "a"}, "state__gt"),
    ],
    ids=str,
)
def test_a_wrong_filter_is_refused_by_name(api: Api, query: dict, where: str) -> None:
    [place] = pointers(problem(api.get("/jobs", query), 422))
    assert place.split(".")[0] == where


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "", "x", "!!!", "ä", "_" * 200, "=" * 8, encoded("default"), encoded("elsewhere:1"), encoded("default:0"),
        encoded(f"default:{2**63}"),  encoded("default:1; DROP TABLE conveyor_job"), encoded("default:\x00"),
        "!" + encoded("default:1"),
    ],
)  # fmt: skip
def test_a_cursor_that_no_list_has_given_is_refused(api: Api, cursor: str) -> None:
    assert pointers(problem(api.get("/jobs", {"cursor": cursor}), 422)) == ["cursor"]


def test_a_job_that_changes_while_it_is_looked_for_is_not_shown_as_what_it_was(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = JobFactory()
    really = listing._found

    def then_changed(*arguments: Any) -> Any:
        found = really(*arguments)
        Job.objects.filter(pk=job.pk).update(state="cancelled", ready_seq=None, finished_at=in_seconds(0))
        return found

    monkeypatch.setattr(listing, "_found", then_changed)
    assert answer(api.get("/jobs", {"state": "ready"}))["jobs"] == []


def test_a_token_lists_the_jobs_of_its_queues(db: None) -> None:
    mine, _ = JobFactory(queue="orders"), JobFactory()
    api = with_token("read", queues=["orders"])
    assert listed(api) == listed(api, queue="orders") == names(mine)
    # One that exists and one that does not: the same answer.
    bodies = [problem(api.get("/jobs", {"queue": queue}), 403) for queue in ("default", "absent")]
    assert bodies[0] == bodies[1]
    problem(api.get("/jobs", {"queue": ["orders", "default"]}), 403)
    # A cursor that was made up shows no more.
    assert answer(api.get("/jobs", {"cursor": encoded("default:99999999")}))["jobs"][0]["id"] == names(mine)[0]


def test_listing_needs_the_verb_read(db: None) -> None:
    problem(with_token("enqueue", "inspect", "cancel", "retry", "pause").get("/jobs"), 403)


def test_a_page_counts_nothing_and_reads_no_payload(api: Api) -> None:
    for _ in range(3):
        JobFactory()
    with CaptureQueriesContext(connection) as captured:
        answer(api.get("/jobs", {"limit": 2}))
    texts = [query["sql"] for query in captured if "conveyor_job" in query["sql"]]
    # Their ids, and they.
    assert len(texts) == 2
    assert not any(word in text for text in texts for word in ("COUNT(", "OFFSET", "payload"))


def test_what_is_rare_is_looked_for_only_so_long_and_the_list_goes_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "FIRST", 2)
    monkeypatch.setattr(walk, "time", SimpleNamespace(monotonic=itertools.count(step=10).__next__))
    rare = JobFactory(task="a.b")
    for _ in range(5):
        JobFactory()
    assert answer(api.get("/jobs", {"task": "a.b"}))["jobs"] == []
    assert listed(api, task="a.b") == names(rare)
