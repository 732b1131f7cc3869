"""Which statements leave a trace in their transaction beyond the rows that they write.

What a handler has set, locked by number or declared holds until the transaction ends; in a group its neighbours would
meet it, so a task that does such a thing runs alone. The look is at the text: what a function of the project's does
inside the database is not seen.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

# Statements that read or write rows, or belong to a savepoint of the handler's own.
_ON_ROWS: Final = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "SAVEPOINT", "RELEASE"})
_FIRST_WORD: Final = re.compile(r"(?:\s|\(|/\*.*?\*/)*(\w+)", re.DOTALL)
_COMMENT_LINE: Final = re.compile(r"^\s*--.*$", re.MULTILINE)
# Functions whose effect lasts as long as the transaction: settings; locks by number; notifications, of which equal ones
# are folded; the transaction's own number and snapshot, which members share. And a second statement.
_LASTING: Final = re.compile(
    r"set_config|pg_settings|advisory|pg_notify|pg_current_xact|txid_|pg_export_snapshot|conveyor_run|/\*.*/\*|;\s*\S",
    re.IGNORECASE | re.DOTALL,
)
_INTO: Final = re.compile(r"\binto\b", re.IGNORECASE)


def leaves_traces(sql: Any) -> bool:
    """Say whether a statement may leave something for the rest of its transaction; where unsure, True."""
    return not isinstance(sql, str) or _leaves(sql)


@lru_cache(maxsize=512)
def _leaves(sql: str) -> bool:
    sql = _COMMENT_LINE.sub("", sql)
    found = _FIRST_WORD.match(sql)
    word = found[1].upper() if found else ""
    if word == "ROLLBACK":
        # To a savepoint of its own; without one it would end the transaction of its neighbours.
        return re.match(r"\s*ROLLBACK\s+TO\b", sql, re.IGNORECASE) is None
    if word not in _ON_ROWS or _LASTING.search(sql):
        return True
    return word == "SELECT" and _INTO.search(sql) is not None
