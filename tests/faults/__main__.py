"""``python -m tests.faults``: run scenarios, show a line of each, and fail if one was not as it should be.

``results/`` holds the standard runs: 60 jobs, seed 1, and for a scenario that takes minutes any run, whose file's name
has its number of jobs. The results of other runs go to a folder of their own, which is named at the end.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Final

from .result import HEADING
from .run import run
from .scenarios import SCENARIOS, Scenario

RESULTS: Final = Path("results")
JOBS: Final = 60
SEED: Final = 1


def main() -> int:
    """Read the command line, run, print; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    add = parser.add_argument
    add("--scenario", action="append", choices=[*SCENARIOS], help="Default: all but those that take minutes.")
    add("--jobs", type=int, default=JOBS, help="Jobs that are enqueued in each run (default %(default)s).")
    add("--seed", type=int, default=SEED, help="Decides what is enqueued and when what breaks (default %(default)s).")
    add("--minutes", type=float, help="Spread the enqueues over so long; default: about 30 jobs a second.")
    add("--results", type=Path, help=f"Folder of the results (default: {RESULTS}/, for the standard runs).")
    given = parser.parse_args()
    names = given.scenario or [name for name, scenario in SCENARIOS.items() if not scenario.long]
    rate = given.jobs / (given.minutes * 60) if given.minutes else None
    print(HEADING)
    good = True
    for name in names:
        folder = given.results or folder_of(
            SCENARIOS[name], jobs=given.jobs, seed=given.seed, minutes=given.minutes
        )  # fmt: skip
        result = run(SCENARIOS[name], jobs=given.jobs, seed=given.seed, folder=folder, rate=rate)
        print(result.line(), flush=True)
        for line in result.wrong:
            print(f"    {line}", flush=True)
        if folder not in {given.results, RESULTS}:
            print(f"    not a standard run: its result is in {folder}/", flush=True)
        good &= result.is_good
    return 0 if good else 1


def folder_of(scenario: Scenario, *, jobs: int, seed: int, minutes: float | None, else_in: Path | None = None) -> Path:
    """Return where a result goes that nobody has named a folder for: a standard run's to RESULTS, any other apart.

    `else_in`: where the new folder of such a one is made; by default where temporary files are.
    """
    if scenario.long or (jobs, seed, minutes) == (JOBS, SEED, None):
        return RESULTS
    return Path(tempfile.mkdtemp(prefix="conveyor-results-", dir=else_in))


if __name__ == "__main__":
    sys.exit(main())
