"""The bodies of requests: bounded before they are read, and JSON as RFC 8259 has it, not as Python does."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Final, NoReturn

from django.http import HttpRequest, UnreadablePostError
from django.utils.datastructures import MultiValueDict
from ninja.parser import Parser

from ..conf import conveyor_settings
from ..errors import describe
from .problems import Problem, invalid

JSON: Final = "application/json"


def read_body(request: HttpRequest) -> None:
    """Read the body of a request into it. Raises Problem where it is too large or, by its header, not JSON.

    Of no body the header says nothing: clients and servers put types of their own there.
    """
    limit = conveyor_settings().api_max_body_bytes
    if _declared_length(request) > limit:
        raise _too_large(limit)
    try:
        # Not `request.body`, which has a limit of Django's, and looks at what the header says alone.
        body = request.read(limit + 1)
    except UnreadablePostError as error:
        raise Problem(400, "unreadable", "The body of the request broke off.") from error
    if len(body) > limit:
        raise _too_large(limit)
    if body:
        _check_type(request)
    request._body = body  # noqa: SLF001 - where `request.body` keeps it


def _check_type(request: HttpRequest) -> None:
    if request.content_type and request.content_type != JSON:
        raise Problem(415, "not-json", f"Send the body as {JSON}, not as {request.content_type[:80]!r}.")
    if (charset := (request.content_params or {}).get("charset", "utf-8")).lower() not in {"utf-8", "utf8"}:
        raise Problem(415, "not-json", f"Send the body in UTF-8, not in {charset[:80]!r}.")


class StrictParser(Parser):
    """Reads JSON that any other reader would read in the same way."""

    def parse_body(self, request: HttpRequest) -> Any:
        """Return the body's value. Raises Problem."""
        try:
            # Not bytes: of those json would guess the encoding.
            return json.loads(request.body.decode(), parse_constant=_refuse_constant, object_pairs_hook=_unrepeated)
        except UnicodeDecodeError as error:
            raise _broken(f"not UTF-8 at byte {error.start}") from error
        except json.JSONDecodeError as error:
            raise _broken(f"{error.msg} at character {error.pos}") from error
        except RecursionError as error:
            raise _broken("nested too deeply") from error
        # Python reads no integer of more than some thousand digits.
        except ValueError as error:
            raise invalid(f"A number in the body has too many digits: {error}.", pointer="#") from error

    def parse_querydict(
        self, data: MultiValueDict[str, Any], list_fields: list[str], request: HttpRequest
    ) -> dict[str, Any]:
        """Return the parameters of a query. Raises Problem where one that is said once is said twice."""
        for name, values in data.lists():
            if len(values) > 1 and name not in list_fields:
                raise invalid(f"{name} is given {len(values)} times; give it once.", parameter=name)
        return super().parse_querydict(data, list_fields, request)


def _declared_length(request: HttpRequest) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0


def _too_large(limit: int) -> Problem:
    return Problem(
        413, "too-large",
        f"The body has more than {limit:,} bytes. Send less, or have CONVEYOR['API_MAX_BODY_BYTES'] raised.",
    )  # fmt: skip


def _broken(why: str) -> Problem:
    return Problem(400, "broken-json", f"The body cannot be read as JSON: {why}.")


def _refuse_constant(name: str) -> NoReturn:
    raise _broken(f"{name} is no JSON; send null or a string instead")


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of the body; refuse one that says a key twice: readers do not agree which of the two counts."""
    value = dict(pairs)
    if len(value) < len(pairs):
        [(twice, _)] = Counter(key for key, _ in pairs).most_common(1)
        raise _broken(f"an object has the key {describe(twice)} more than once")
    return value
