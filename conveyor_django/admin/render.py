"""Values as HTML: readable, bounded, and escaped, since whoever enqueues chooses what is in them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from ..jsonrule import scrub_text

# Characters of one value that a page shows; the middle of a longer one is left out.
SHOWN: Final = 20_000

NOTHING: Final = "–"


def preformatted(text: str) -> SafeString:
    """Return text with its lines as they are."""
    return format_html('<pre style="margin: 0; white-space: pre-wrap">{}</pre>', scrub_text(text, SHOWN))


def pretty_json(value: Any) -> SafeString:
    """Return JSON data, indented."""
    return preformatted(json.dumps(value, indent=2, ensure_ascii=False))


def folded(summary: str, text: str) -> SafeString:
    """Return a summary that unfolds to a long text; the summary alone if there is no text."""
    if not text:
        return format_html("{}", summary)
    return format_html("<details><summary>{}</summary>{}</details>", summary or NOTHING, preformatted(text))


def table(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> SafeString | str:
    """Return a table, or a dash if there are no rows. Cells are escaped unless they are safe already."""
    body = format_html_join("", "<tr>{}</tr>", ((_cells("td", row),) for row in rows))
    if not body:
        return NOTHING
    return format_html("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>", _cells("th", headings), body)


def _cells(tag: str, values: Sequence[Any]) -> SafeString:
    return format_html_join("", "<{0}>{1}</{0}>", ((tag, NOTHING if value is None else value) for value in values))
