"""Where a page of a list ends: the database and the id of its last job, in a text that callers hand back as it is."""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple

from ..compat import TaskResultDoesNotExist
from ..results import place_of, result_id
from .problems import invalid


class Cursor(NamedTuple):
    """The job after which a list goes on."""

    alias: str
    job_id: int

    def text(self) -> str:
        """Return it as text for a URL."""
        return base64.urlsafe_b64encode(result_id(self.alias, self.job_id).encode()).decode().rstrip("=")


def cursor_from(text: str) -> Cursor:
    """Return what `Cursor.text` made the text of. Raises Problem for any other.

    It is not signed: who makes one up begins elsewhere in the list, and sees nothing that the list does not have.
    """
    try:
        place = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True).decode()
        job_id, alias = place_of(place)
    except (binascii.Error, ValueError, TaskResultDoesNotExist) as error:
        raise invalid(
            "cursor is none that a list has given; leave it out to begin anew.", parameter="cursor"
        ) from error
    return Cursor(alias, job_id)
