"""JSON text as people read it: indented as `json` does it, secrets masked at any depth, bounded."""

from __future__ import annotations

import json

import pytest
from pytest_django import Settings

from conveyor_django.admin import jsonview
from conveyor_django.admin.jsonview import MASK, SHOWN, is_secret, readable


@pytest.mark.parametrize(
    "key",
    ["password", "PASSWORD", "db_password", "userPassword", "token", "access-token", "api_key", "API key", "apikey",
     "Authorization", "client_secret", "private_key", "set-cookie", "credentials", "card_number", "pin", "auth", "otp"],
)  # fmt: skip
def test_what_looks_secret(key):
    assert is_secret(key)


@pytest.mark.parametrize("key", ["author", "passenger", "pins", "keyboard", "sessions", "order_id", "", "é", "monkey"])
def test_what_does_not(key):
    assert not is_secret(key)


def test_a_project_names_its_own(settings: Settings) -> None:
    settings.CONVEYOR = {"MASKED_KEYS": ["I-BAN"]}
    assert is_secret("customer_iban")
    assert is_secret("password")
    settings.CONVEYOR = {}
    assert not is_secret("customer_iban")


def test_positional_arguments_are_masked_by_their_parameters():
    text = '["bob", "hunter2", {"x": ["y"]}, "more"]'
    shown = json.loads(readable(text, names=["user", "password", "api_key"]))
    assert shown == ["bob", "********", "********", "more"]
    # Only the outermost ones are parameters.
    assert json.loads(readable('[["a", "b"]]', names=["x", "password"])) == [["a", "b"]]
    assert json.loads(readable('{"a": 1, "b": 2}', names=["x", "password"])) == {"a": 1, "b": 2}


def test_a_secret_that_was_cut_is_masked_too():
    shown = readable('{"a": 1, "password": "hun', length=100)
    assert "hun" not in shown
    assert MASK in shown


def test_numbers_are_shown_digit_by_digit():
    digits = "9" * 5_000  # More than Python reads.
    assert readable(f"[{digits}, 1e400, 0.1]") == f"[\n  {digits},\n  1e400,\n  0.1\n]"


@pytest.mark.parametrize("text", ["[" * 100_000, '["' + "x" * 100_000 + '"]', "[" + "1, " * 50_000 + "1]"])
def test_it_is_bounded(text):
    shown = readable(text)
    assert len(shown) < SHOWN + 100
    assert "characters left out" in shown


def test_what_is_left_out_is_counted(monkeypatch):
    monkeypatch.setattr(jsonview, "SHOWN", 10)
    # A bracket, a new line with its two blanks, and six of the text.
    assert readable('["0123456789"]') == '[\n  "01234\n… 7 characters left out …'
