"""The command conveyor_token: a token is shown once, listed without it, and revoked."""

from __future__ import annotations

import datetime as dt
import io

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from conveyor_django.models import ApiToken
from conveyor_django.operate.tokens import InvalidToken, create_token

from .client import NOTE, Api, answer, problem

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    """Run the command; return what it wrote to its standard output and error."""
    out, err = io.StringIO(), io.StringIO()
    call_command("conveyor_token", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_a_token_is_made_shown_once_and_works() -> None:
    out, err = run("create", "shop", "--queue", "default", "--queue", "orders", "--verb", "enqueue", "--verb", "read")
    token = out.strip()
    row = ApiToken.objects.get()
    assert (row.name, row.queues, row.verbs, row.expires_at) == (
        "shop",
        ["default", "orders"],
        ["enqueue", "read"],
        None,
    )
    assert token.startswith(f"{row.prefix}_")
    assert token not in err
    answer(Api(token).enqueue(NOTE), 201)
    listed, _ = run("list")
    assert token not in listed
    assert row.digest not in listed
    assert listed.startswith(
        f"{row.prefix}  shop: enqueue, read in queues default, orders; never expires; last used 20"
    )


def test_a_token_for_every_queue_that_ends() -> None:
    run("create", "shop", "--all-queues", "--verb", "read", "--expires", "90d")
    row = ApiToken.objects.get()
    assert row.queues is None
    assert dt.timedelta(days=89) < row.expires_at - timezone.now() <= dt.timedelta(days=90)
    assert "in every queue; expires " in run("list")[0]
    run("create", "other", "--all-queues", "--verb", "read", "--expires", "2090-01-31T08:00:00+02:00")
    assert ApiToken.objects.get(name="other").expires_at == dt.datetime(2090, 1, 31, 6, tzinfo=dt.UTC)


def test_revoking() -> None:
    token = run("create", "shop", "--all-queues", "--verb", "read")[0].strip()
    prefix = ApiToken.objects.get().prefix
    assert run("revoke", prefix)[0] == f"{prefix} is revoked.\n"
    problem(Api(token).get("/jobs"), 401)
    assert run("revoke", prefix)[0] == f"{prefix} was revoked before.\n"
    assert "; revoked 20" in run("list")[0]


def test_the_list_of_none() -> None:
    assert run("list")[0] == "There are no tokens.\n"


FAR = ["create", "shop", "--queue", "a", "--verb", "read", "--expires"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["create", "shop", "--verb", "read"], "--all-queues"),
        (["create", "shop", "--verb", "read", "--queue", "a", "--all-queues"], "not both"),
        (["create", "shop", "--queue", "a"], "name verbs of enqueue, read, inspect, cancel, retry, pause"),
        (["create", "shop", "--queue", "a", "--verb", "delete"], "'delete' is no verb"),
        (["create", "shop", "--queue", "", "--verb", "read"], "'' is no queue's name"),
        (["create", " ", "--queue", "a", "--verb", "read"], "' ' is no token's name"),
        (["create", "a\nb", "--queue", "a", "--verb", "read"], "'a\\nb' is no token's name"),
        (["create", "a\x1b[2J", "--queue", "a", "--verb", "read"], "'a\\x1b[2J' is no token's name"),
        (["create", "a\u2028b", "--queue", "a", "--verb", "read"], "is no token's name"),
        (["create", "a" * 201, "--queue", "a", "--verb", "read"], "in up to 200 characters"),
        (["create", "shop", "--queue", "a", "--verb", "read", "--expires", "soon"], "not 'soon'"),
        (["create", "shop", "--queue", "a", "--verb", "read", "--expires", "2030-01-31"], "not '2030-01-31'"),
        (["create", "shop", "--queue", "a", "--verb", "read", "--expires", "2030-99-31T08:00:00Z"], "not '2030-99"),
        (["create", "shop", "--queue", "a", "--verb", "read", "--expires", "2020-01-31T08:00:00Z"], "expired on 2020-"),
        ([*FAR, "9999-12-31T23:59:59-14:00"], "years 2 to 9998 in UTC, not '9999-12-31T23:59:59-14:00'"),
        ([*FAR, "9999-01-01T00:00:00Z"], "years 2 to 9998 in UTC"),
        (["revoke", "absent"], "no token begins with 'absent'"),
        (["revoke", "a\x00"], "no token begins with 'a\\x00'"),
    ],
    ids=str,
)
def test_what_is_refused(arguments: list[str], says: str) -> None:
    with pytest.raises(CommandError) as caught:
        run(*arguments)
    assert says in str(caught.value)
    assert not ApiToken.objects.exists()


def test_an_end_that_not_every_reader_could_hold_is_refused_of_programs_too() -> None:
    never = dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-14)))
    with pytest.raises(
        InvalidToken, match=r"the token's end is 9999-.*, but it must be an instant of the years 2 to 9998"
    ):
        create_token("shop", queues=None, verbs=["read"], expires_at=never)
    assert not ApiToken.objects.exists()


def test_an_end_with_an_offset_that_postgresql_does_not_read() -> None:
    run(*FAR, "2090-01-31T23:00:00+23:00")
    assert ApiToken.objects.get().expires_at == dt.datetime(2090, 1, 31, tzinfo=dt.UTC)


def test_a_name_of_any_script_and_of_the_greatest_length() -> None:
    run("create", "ä 店 " * 50, "--queue", "a", "--verb", "read")
    assert len(ApiToken.objects.get().name) == 200
