"""How a fault and the handlers under it wait for each other: by files, each of which says one thing for good."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

from ..support.waits import wait_until
from .variables import HISTORY

# Seconds; longer than a fault waits, so that it is the fault that says what is missing.
PATIENCE: Final = 120.0
# The runs that will be zombies, and the runs after them of the same jobs.
EARLY: Final = "early"
LATER: Final = "later"


class Gates:
    """The files of one run, beside its history."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._frozen = folder / "frozen"
        self._settled = folder / "settled"

    @classmethod
    def of_this_process(cls) -> Gates:
        """Return those of the run that this process is part of."""
        return cls(Path(os.environ[HISTORY]).parent)

    # -- of the fault ---------------------------------------------------------------------------------------

    def say_frozen(self, jobs: Collection[int]) -> None:
        """Say that the process that ran these jobs is frozen: their next runs are to wait."""
        written = self._folder / "frozen.new"
        written.write_text(" ".join(map(str, jobs)))
        # All of it at once.
        written.rename(self._frozen)

    def settle(self) -> None:
        """Let every run go on."""
        self._settled.touch()

    def waiting(self, which: str) -> set[int]:
        """Return the jobs of which a run, EARLY or LATER, has come to wait."""
        return {int(path.suffix[1:]) for path in self._folder.glob(f"{which}.*")}

    # -- of the handlers ------------------------------------------------------------------------------------

    @property
    def is_frozen(self) -> bool:
        """Whether that was said."""
        return self._frozen.exists()

    def was_frozen(self, job: int) -> bool:
        """Whether an earlier run of the job is frozen."""
        return str(job) in self._frozen.read_text().split()

    def wait(self, which: str, job: int) -> None:
        """Say that a run waits, and wait until all is settled. Raises TimeoutError."""
        (self._folder / f"{which}.{job}").touch()
        wait_until(self._settled.exists, "the zombie has ended", patience=PATIENCE)
