"""``python -m tests.faults.sql_mutants``: break each guard of the SQL, and show who notices.

With ``--scenario NAME`` real workers run with each mutant under that fault instead; with ``--real`` with each main
guard's mutant under the fault that should show it (``results/sql-mutants-real.json``). Uses the migrated database of
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
    parser.add_argument("--real", action="store_true", help="Real workers, each mutant under a fault that fits it.")
    given = parser.parse_args()
    mutants = [mutant for mutant in PLAYED if given.only in mutant.what]
    if given.real:
        return _under_its_fault(given)
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
        for who, what in shown.said.items():
            print(f"    {who}: {what}", flush=True)
    return 0


def _under_its_fault(given: argparse.Namespace) -> int:
    """Run the table of real workers; it fails where one is unseen that should be caught."""
    from .real import run
    from .real_table import CASES, write

    shown, wrong = [], []
    for case in [case for case in CASES if given.only in case.mutant.what]:
        seen = run(case.mutant, case.scenario, jobs=case.jobs)
        shown.append((case, seen))
        path = write(shown, given.results)
        print(f"{', '.join(seen.said) or 'unseen':<18} {case.scenario:<14} {case.mutant.what}", flush=True)
        wrong += [case.mutant.what] if not seen.is_caught and not case.covered_by else []
    print(f"{sum(seen.is_caught for _, seen in shown)} of {len(shown)} caught; in {path}")
    for what in wrong:
        print(f"    MISSED: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
