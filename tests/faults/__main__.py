"""``python -m tests.faults``: run scenarios, show a line of each, and fail if one was not as it should be."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from .result import HEADING
from .run import run
from .scenarios import SCENARIOS

RESULTS: Final = Path("results")


def main() -> int:
    """Read the command line, run, print; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    add = parser.add_argument
    add("--scenario", action="append", choices=[*SCENARIOS], help="Default: all but those that take minutes.")
    add("--jobs", type=int, default=60, help="Jobs that are enqueued in each run (default %(default)s).")
    add("--seed", type=int, default=1, help="Decides what is enqueued and when what breaks (default %(default)s).")
    add("--minutes", type=float, help="Spread the enqueues over so long; default: about 30 jobs a second.")
    add("--results", type=Path, default=RESULTS, help="Folder of the results (default %(default)s/).")
    given = parser.parse_args()
    names = given.scenario or [name for name, scenario in SCENARIOS.items() if not scenario.long]
    rate = given.jobs / (given.minutes * 60) if given.minutes else None
    print(HEADING)
    good = True
    for name in names:
        result = run(SCENARIOS[name], jobs=given.jobs, seed=given.seed, folder=given.results, rate=rate)
        print(result.line(), flush=True)
        for line in result.wrong:
            print(f"    {line}", flush=True)
        good &= result.is_good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
