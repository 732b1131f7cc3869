"""Who comes in: tokens that are valid, and users with a session, a permission and a CSRF token; nobody else."""

from __future__ import annotations

import datetime as dt
import hashlib
import logging

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from pytest_django import Settings

from conveyor_django.models import ApiToken, Job, Queue
from conveyor_django.operate.apiverbs import PERMISSIONS, ApiVerb
from conveyor_django.operate.tokens import create_token, revoke_token

from ..support.factories import JobFactory, in_seconds
from .client import NOTE, ROOT, Api, answer, problem, with_token

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

CALLS = [
    ("GET", "/jobs"), ("POST", "/jobs"), ("POST", "/batch"), ("GET", "/jobs/default:1"),
    ("GET", "/jobs/default:1/explain"),
    ("POST", "/jobs/default:1/cancel"), ("POST", "/jobs/default:1/retry"), ("GET", "/queues"),
    ("POST", "/queues/orders/pause"), ("POST", "/queues/orders/resume"), ("GET", "/openapi.json"),
]  # fmt: skip


@pytest.fixture
def cheap_passwords(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.mark.parametrize(("method", "path"), CALLS, ids=str)
def test_nobody_is_let_in_without_a_token_or_a_session(method: str, path: str) -> None:
    response = Client().generic(method, ROOT + path, content_type="application/json")
    problem(response, 401, "unauthorized")
    assert response["WWW-Authenticate"] == 'Bearer realm="conveyor"'


FORGED = [
    "", "x", "conveyor_000000000000_" + "A" * 43, "{prefix}", "{prefix}_" + "A" * 43, "{token}A", "{upper}",
    "{token} {token}", "{digest}", "' OR 1=1 --", "\x00", "A" * 8000, "ä", "null", "{prefix}_",
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED, ids=range(len(FORGED)))
def test_a_forged_token_is_refused(forged: str) -> None:
    row, token = create_token("test", queues=None, verbs=["read"])
    text = forged.format(token=token, prefix=row.prefix, upper=token.upper(), digest=row.digest)
    response = Api(text).get("/jobs")
    problem(response, 401, "unauthorized")
    assert response["WWW-Authenticate"] == 'Bearer realm="conveyor", error="invalid_token"'


@pytest.mark.parametrize("header", ["bEARER {}", "Bearer  {} "])
def test_the_scheme_s_case_and_spaces_do_not_matter(header: str) -> None:
    token = create_token("test", queues=None, verbs=["read"])[1]
    answer(Api().get("/jobs", Authorization=header.format(token)))


@pytest.mark.parametrize("scheme", ["Basic ", "Token ", ""])
def test_a_token_by_another_scheme_is_refused_and_not_logged(
    settings: Settings, caplog: pytest.LogCaptureFixture, scheme: str
) -> None:
    settings.DEBUG = True
    row, token = create_token("test", queues=None, verbs=["read"])
    with caplog.at_level(logging.DEBUG):
        problem(Api().get("/jobs", Authorization=f"{scheme}{token}"), 401, "unauthorized")
    assert token.removeprefix(row.prefix) not in caplog.text


def test_a_token_whose_row_has_no_queue_or_no_verb_is_for_none() -> None:
    """Conveyor makes no such row; somebody may."""
    JobFactory(queue="orders")
    api = with_token()
    ApiToken.objects.update(queues=[])
    assert (answer(api.get("/queues")), answer(api.get("/jobs"))) == ({"queues": []}, {"jobs": [], "next": None})
    problem(api.enqueue(NOTE), 403, "forbidden")
    ApiToken.objects.update(queues=None, verbs=[])
    problem(api.get("/queues"), 403, "forbidden")


def test_only_a_hash_of_the_token_is_stored() -> None:
    row, token = create_token("test", queues=None, verbs=["read"])
    row.refresh_from_db()
    secret = token.removeprefix(row.prefix)
    assert secret not in "".join(str(value) for value in ApiToken.objects.values().get().values())
    assert row.digest == hashlib.sha256(token.encode()).hexdigest()


def test_a_token_that_was_revoked_is_refused_at_once() -> None:
    row, token = create_token("test", queues=None, verbs=["read"])
    answer(Api(token).get("/jobs"))
    assert revoke_token(row.prefix)
    problem(Api(token).get("/jobs"), 401)


def test_a_token_ends_by_the_database_s_clock() -> None:
    row, token = create_token("test", queues=None, verbs=["read"], expires_at=in_seconds(60))
    answer(Api(token).get("/jobs"))
    ApiToken.objects.filter(pk=row.pk).update(expires_at=in_seconds(-1))
    problem(Api(token).get("/jobs"), 401)


def test_its_use_is_noted_once_an_hour() -> None:
    row, token = create_token("test", queues=None, verbs=["read"])
    answer(Api(token).get("/jobs"))
    row.refresh_from_db()
    first = row.last_used_at
    assert first is not None
    answer(Api(token).get("/jobs"))
    row.refresh_from_db()
    assert row.last_used_at == first
    ApiToken.objects.filter(pk=row.pk).update(last_used_at=first - dt.timedelta(minutes=61))
    answer(Api(token).get("/jobs"))
    row.refresh_from_db()
    assert row.last_used_at >= first


# -- sessions ---------------------------------------------------------------------------------------------


def user_with(*permissions: str) -> User:
    user = User.objects.create_user("ada")
    for permission in permissions:
        user.user_permissions.add(Permission.objects.get(codename=permission.removeprefix("conveyor.")))
    return user


def logged_in(user: User, *, strict: bool = False) -> Api:
    client = Client(enforce_csrf_checks=strict)
    client.force_login(user)
    return Api(client=client)


@pytest.mark.parametrize("verb", list(ApiVerb))
def test_a_user_needs_the_permission_of_the_verb(verb: ApiVerb) -> None:
    job = JobFactory(failed=True, payload__args=["hidden"])
    name = f"default:{job.pk}"
    api = logged_in(user_with(PERMISSIONS[verb]))
    allowed = {
        other for other in ApiVerb if PERMISSIONS[other] == PERMISSIONS[verb] or (verb, other) == (other, verb)
    }  # fmt: skip
    calls = {
        ApiVerb.READ: lambda: api.get(f"/jobs/{name}"),
        ApiVerb.RETRY: lambda: api.post(f"/jobs/{name}/retry"),
        ApiVerb.CANCEL: lambda: api.post(f"/jobs/{name}/cancel"),
        ApiVerb.ENQUEUE: lambda: api.enqueue(NOTE),
        ApiVerb.PAUSE: lambda: api.post("/queues/orders/pause"),
    }
    for each, call in calls.items():
        assert (call().status_code == 403) == (each not in allowed), each


def test_a_user_sees_arguments_with_the_permission_for_them() -> None:
    job = JobFactory(payload__args=["hidden"])
    path = f"/jobs/default:{job.pk}"
    user = user_with("view_job")
    assert answer(logged_in(user).get(path))["inspection"] is None
    user.user_permissions.add(Permission.objects.get(codename="edit_job"))
    assert answer(logged_in(User.objects.get()).get(path))["inspection"]["args"] == ["hidden"]


def test_a_user_who_may_nothing_is_refused_everything() -> None:
    api = logged_in(user_with())
    for method, path in CALLS:
        if path != "/openapi.json":
            body = b'{"task": "a.b"}' if path == "/jobs" else b'{"jobs": [{"task": "a.b"}]}'
            response = api.client.generic(method, ROOT + path, body, content_type="application/json")
            problem(response, 403, "forbidden")


def test_a_user_who_is_locked_out_is_nobody() -> None:
    user = user_with("view_job")
    api = logged_in(user)
    answer(api.get("/jobs"))
    user.is_active = False
    user.save()
    problem(api.get("/jobs"), 401)


def test_what_changes_something_by_session_needs_the_csrf_token() -> None:
    api = logged_in(user_with("add_job", "pause_queue", "view_job"), strict=True)
    answer(api.get("/jobs"))
    for response in (
        api.enqueue(NOTE),
        api.post("/queues/orders/pause"),
        api.post("/jobs", {"task": NOTE}, **{"X-CSRFToken": "A" * 64}),
    ):
        assert "CSRF" in problem(response, 403, "forbidden")["detail"]
    assert not Job.objects.exists()
    assert not Queue.objects.exists()
    api.client.cookies["csrftoken"] = "a" * 32
    answer(api.post("/jobs", {"task": NOTE}, **{"X-CSRFToken": "a" * 32}), 201)


def test_a_token_needs_no_csrf_token_and_takes_no_cookies(cheap_passwords: None) -> None:
    client = logged_in(user_with("add_job"), strict=True).client
    answer(Api(create_token("t", queues=None, verbs=["enqueue"])[1], client).enqueue(NOTE), 201)
    # Not the user in its place.
    problem(Api("wrong", client).enqueue(NOTE), 401)


def test_middleware_that_asks_everybody_to_log_in_leaves_the_api_alone(settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    answer(Api().get("/health/live"))
    answer(with_token("read").get("/jobs"))
    problem(Api().get("/jobs"), 401)


def test_without_users_there_are_tokens(settings: Settings) -> None:
    settings.MIDDLEWARE = []
    answer(with_token("enqueue").enqueue(NOTE), 201)
    problem(Api().get("/jobs"), 401)
