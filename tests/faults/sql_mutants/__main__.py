"""``python -m tests.faults.sql_mutants``: break each guard of the SQL, and show who notices.

With ``--scenario NAME`` real workers run with each mutant under that fault instead. Uses the migrated database of
DATABASE_URL, in a schema of its own; writes ``results/sql-mutants.json``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...concurrency.mutants import Mutant


def main() -> int:
    """Read the command line, play, print; return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from ...support.connections import plain_connection
    from .more import COVERED, PLAYED
    from .table import HEADING, lines, write

    parser = argparse.ArgumentParser(prog="python -m tests.faults.sql_mutants", description=__doc__)
    parser.add_argument("--only", default="", help="Part of the name of the mutants to play (default: all).")
    parser.add_argument("--results", type=Path, default=Path("results"), help="Folder (default %(default)s/).")
    parser.add_argument("--scenario", help="A scenario of `python -m tests.faults`, for real workers with the mutants.")
    parser.add_argument("--jobs", type=int, default=60, help="Jobs of a scenario (default %(default)s).")
    given = parser.parse_args()
    mutants = [mutant for mutant in PLAYED if given.only in mutant.what]
    if given.scenario:
        return _under_a_fault([mutant for mutant in mutants if not mutant.without_index], given)
    print(HEADING)
    results, path = [], given.results
    watcher = plain_connection()
    for line in lines(mutants, watcher):
        results.append(line)
        path = write(results, given.results)
        print(line, flush=True)
    watcher.close()
    missed = [line.mutant for line in results if not line.is_caught]
    print(f"{len(results) - len(missed)} of {len(results)} caught; in {path}")
    for mutant in missed:
        print(f"    {mutant}: {COVERED.get(mutant, 'MISSED')}")
    return 0 if COVERED.keys() >= set(missed) else 1


def _under_a_fault(mutants: list[Mutant], given: argparse.Namespace) -> int:
    """Run a scenario with each mutant; not every fault meets every guard, so nothing is required."""
    from .real import run

    for mutant in mutants:
        shown = run(mutant, given.scenario, jobs=given.jobs)
        print("caught" if shown.is_caught else "unseen", mutant.what, flush=True)
        for what in filter(None, [shown.refusal, shown.stuck, *shown.violations[:1], *shown.complaints[:1]]):
            print(f"    {what.splitlines()[0]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
