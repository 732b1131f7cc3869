"""The environment variables that the processes of a run know it by."""

from __future__ import annotations

from typing import Final

# Paths of the history and of the external store (tests.history.records).
HISTORY: Final = "CONVEYOR_TEST_HISTORY"
STORE: Final = "CONVEYOR_TEST_STORE"
# Set for processes with the newer code of a deploy.
NEWER_CODE: Final = "CONVEYOR_TEST_NEWER_CODE"
# How long a run may take, in seconds; unset: as long as it likes.
TIMEOUT: Final = "CONVEYOR_TEST_TIMEOUT"
