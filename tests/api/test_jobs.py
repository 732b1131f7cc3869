"""One job: what is shown of it and to whom, cancel, retry."""

from __future__ import annotations

import pytest

from conveyor_django.models import Job
from conveyor_django.operate.explain import explain

from ..support.factories import AttemptFactory, JobFactory
from .client import Api, answer, problem, with_token

pytestmark = pytest.mark.django_db

HIDDEN = "a secret argument"


@pytest.fixture
def failed(db: None) -> Job:
    job = JobFactory(failed=True, idempotency_key="k", payload__args=[HIDDEN], payload__kwargs={"card": HIDDEN})
    AttemptFactory(job=job, verb="fail", message=HIDDEN)
    return job


def name_of(job: Job) -> str:
    return f"default:{job.pk}"


def state_of(job: Job) -> str:
    return Job.objects.get(pk=job.pk).state


def test_what_is_shown_of_a_job(failed: Job) -> None:
    body = answer(with_token("read").get(f"/jobs/{name_of(failed)}"))
    assert body["inspection"] is None
    assert (body["id"], body["state"], body["task"], body["queue"]) == (
        name_of(failed), "failed", failed.task, "default",
    )  # fmt: skip
    assert (body["attempt"], body["max_attempts"], body["idempotency_key"]) == (1, 5, "k")
    assert body["finished_at"].endswith("Z")


def test_arguments_and_errors_are_for_the_verb_inspect(failed: Job) -> None:
    for verbs in (["read"], ["read", "enqueue", "cancel", "retry", "pause"]):
        api = with_token(*verbs)
        for path in (f"/jobs/{name_of(failed)}", "/jobs"):
            assert HIDDEN not in api.get(path).content.decode()
    inspection = answer(with_token("read", "inspect").get(f"/jobs/{name_of(failed)}"))["inspection"]
    assert (inspection["args"], inspection["kwargs"], inspection["result"]) == ([HIDDEN], {"card": HIDDEN}, None)
    [failure] = inspection["failures"]
    assert (failure["run"], failure["ended_by"], failure["error"]) == (1, "fail", "builtins.ValueError")


def test_a_result_is_shown_to_the_verb_inspect() -> None:
    job = JobFactory(succeeded=True, ledger__result={"paid": 10**40})
    assert answer(with_token("read", "inspect").get(f"/jobs/{name_of(job)}"))["inspection"]["result"] == {
        "paid": 10**40
    }


@pytest.mark.parametrize(
    "name",
    [
        "default:1", "default:0", "default:-1", "default:01", "1", "elsewhere:1", f"default:{2**63}", "default:9" * 50,
        "default:1;DROP TABLE conveyor_job", "default:%00", "%F0%28%8C", "default:1'--", "default:\uff11", "..", "-",
    ],
)  # fmt: skip
def test_a_job_that_is_not_there(api: Api, name: str) -> None:
    for response in (
        api.get(f"/jobs/{name}"),
        api.get(f"/jobs/{name}/explain"),
        api.post(f"/jobs/{name}/cancel"),
        api.post(f"/jobs/{name}/retry"),
    ):
        problem(response, 404, "not-found")


def test_a_job_is_explained_to_who_may_inspect(failed: Job) -> None:
    path = f"/jobs/{name_of(failed)}/explain"
    body = answer(with_token("read", "inspect").get(path))
    assert (body["id"], body["state"]) == (name_of(failed), "failed")
    assert body["reasons"][0] == explain(name_of(failed)).as_json()["reasons"][0]
    for verbs in (["read"], ["inspect"]):
        problem(with_token(*verbs).get(path), 403)
    # That of another queue is not there.
    problem(with_token("read", "inspect", queues=["orders"]).get(path), 404)


# -- cancel -----------------------------------------------------------------------------------------------


def test_a_job_that_waits_is_cancelled_and_stays_so(api: Api) -> None:
    job = JobFactory()
    for _ in range(2):
        assert answer(api.post(f"/jobs/{name_of(job)}/cancel")) == {"id": name_of(job), "state": "cancelled"}
    assert state_of(job) == "cancelled"


def test_the_worker_of_a_running_job_is_asked_to_stop_it(api: Api) -> None:
    job = JobFactory(running=True)
    assert answer(api.post(f"/jobs/{name_of(job)}/cancel"), 202) == {"id": name_of(job), "state": "running"}
    assert Job.objects.get(pk=job.pk).cancel_requested_at is not None


@pytest.mark.parametrize("state", ["succeeded", "failed"])
def test_a_job_that_has_ended_is_not_cancelled(api: Api, state: str) -> None:
    job = JobFactory(**{state: True})
    assert state in problem(api.post(f"/jobs/{name_of(job)}/cancel"), 409, "ended")["detail"]
    assert state_of(job) == state


# -- retry ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["failed", "cancelled"])
def test_what_ended_badly_is_made_ready_again(api: Api, state: str) -> None:
    job = JobFactory(**{state: True})
    assert answer(api.post(f"/jobs/{name_of(job)}/retry")) == {"id": name_of(job), "state": "ready"}
    assert state_of(job) == "ready"


@pytest.mark.parametrize("state", ["ready", "scheduled", "running", "succeeded", "blocked"])
def test_no_other_job_is_run_again(api: Api, state: str) -> None:
    job = JobFactory(**({} if state == "ready" else {state: True}))
    body = problem(api.post(f"/jobs/{name_of(job)}/retry"), 409, "not-ended")
    assert state in body["detail"]
    assert state_of(job) == state


# -- verbs and queues -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("verb", "path"), [("cancel", "cancel"), ("retry", "retry")])
def test_each_change_needs_its_verb(failed: Job, verb: str, path: str) -> None:
    others = {"enqueue", "read", "inspect", "cancel", "retry", "pause"} - {verb}
    assert verb in problem(with_token(*others).post(f"/jobs/{name_of(failed)}/{path}"), 403)["detail"]
    assert state_of(failed) == "failed"


def test_a_job_of_another_queue_is_as_one_that_is_not_there(failed: Job) -> None:
    api = with_token(queues=["orders"])
    absent = problem(api.get("/jobs/default:9999999"), 404)
    for path in ("", "/cancel", "/retry"):
        send = api.post if path else api.get
        assert problem(send(f"/jobs/{name_of(failed)}{path}"), 404) == absent
    assert state_of(failed) == "failed"
    assert with_token(queues=["orders", "default"]).get(f"/jobs/{name_of(failed)}").status_code == 200


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_where_there_is_no_body_its_kind_is_nobody_s_business(api: Api, kind: str) -> None:
    job = JobFactory()
    assert api.send(f"/jobs/default:{job.pk}/cancel", b"", kind=kind).status_code == 200
