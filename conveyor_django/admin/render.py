"""Values as HTML: readable, bounded, and escaped, since whoever enqueues chooses what is in them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

NOTHING: Final = "–"

# What tells the states apart where colours do not; the word is always beside it.
SIGNS: Final = {
    "blocked": "◌",
    "scheduled": "◷",
    "ready": "○",
    "running": "►",
    "succeeded": "✓",
    "failed": "✗",
    "cancelled": "⊘",
}


def sign_of(state: str) -> str:
    """Return the sign of a job's state; a question mark for that of a job which is gone."""
    return SIGNS.get(state, "?")


def state_badge(state: str) -> SafeString:
    """Return a job's state in colour, sign and word; its looks are in conveyor/job.css."""
    return format_html(
        '<span class="conveyor-state conveyor-{0}"><span aria-hidden="true">{1}</span> {0}</span>',
        state,
        sign_of(state),
    )


def precise(instant: dt.datetime | None) -> SafeString | str:
    """Return an instant in the admin's time zone, to the millisecond; a dash where there is none."""
    if instant is None:
        return NOTHING
    local = timezone.localtime(instant)
    text = f"{local.replace(tzinfo=None).isoformat(sep=' ', timespec='milliseconds')} {local.tzname()}"
    return format_html('<time datetime="{}">{}</time>', local.isoformat(), text)


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> SafeString | str:
    """Return a table, or a dash if there are no rows. Cells are escaped unless they are safe already."""
    body = format_html_join("", "<tr>{}</tr>", ((_cells("td", row),) for row in rows))
    if not body:
        return NOTHING
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", _cells("th", headings), body)


def _cells(tag: str, values: Sequence[Any]) -> SafeString:
    return format_html_join("", "<{0}>{1}</{0}>", ((tag, NOTHING if value is None else value) for value in values))
