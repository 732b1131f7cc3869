"""Return values as JSON text, for the ledger."""

from __future__ import annotations

from typing import Any

from .compat import normalize_json
from .errors import UnstorableResult
from .jsonrule import dumps, scrub


def result_text(what: str, value: Any) -> str | None:
    """Return what the function named `what` returned as JSON text, None for None.

    Characters and numbers that PostgreSQL refuses are replaced (rule 3); a type that JSON cannot hold
    raises UnstorableResult.
    """
    if value is None:
        return None
    try:
        return dumps(scrub(normalize_json(value)))
    except (TypeError, ValueError, RecursionError) as error:
        raise UnstorableResult(what, error) from error
