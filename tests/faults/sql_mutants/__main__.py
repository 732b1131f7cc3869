"""``python -m tests.faults.sql_mutants``: break each guard of the SQL, and show who notices.

With ``--scenario NAME`` real workers run with each mutant under that fault instead; with ``--real`` with each main
guard's mutant under the fault that should show it. Migrates the database of DATABASE_URL where it is not, and uses a
schema of its own there. A run of all mutants writes ``results/sql-mutants.json``, with ``--real``
``results/sql-mutants-real.json``; a run of some of them only where ``--results`` names a folder.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ...concurrency.mutants import Mutant

RESULTS: Final = Path("results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line, play, print; return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "testproject.settings")
    import django

    django.setup()
    from .real_table import CASES

    parser = _parser()
    given = parser.parse_args(arguments)
    names = [case.mutant.what for case in CASES] if given.real else [mutant.what for mutant in _playable(given)]
    if not any(given.only in name for name in names):
        parser.error(f"no mutant has {given.only!r} in its name; there are:\n  " + "\n  ".join(names))
    if given.real:
        return _under_its_fault(given)
    return _under_a_fault(given) if given.scenario else _in_its_race(given)


def _parser() -> argparse.ArgumentParser:
    from ..scenarios import SCENARIOS

    parser = argparse.ArgumentParser(prog="python -m tests.faults.sql_mutants", description=__doc__)
    add = parser.add_argument
    add("--only", default="", help="Part of the name of the mutants to play (default: all).")
    add("--results", type=Path, help=f"Folder of the results (default: {RESULTS}/, where all mutants are played).")
    add("--jobs", type=int, default=60, help="Jobs of a scenario (default %(default)s).")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--scenario", choices=[*SCENARIOS], help="Of `python -m tests.faults`: real workers under it.")
    way.add_argument("--real", action="store_true", help="Real workers, each mutant under a fault that fits it.")
    return parser


def _playable(given: argparse.Namespace) -> list[Mutant]:
    """Return the mutants that there are; real workers have all indexes."""
    from .more import PLAYED

    return [mutant for mutant in PLAYED if not (given.scenario and mutant.without_index)]


def results_file(name: str, *, folder: Path | None, only: str, default: Path = RESULTS) -> Path | None:
    """Return the file to write to, if any; what an older run has left there is gone.

    `folder` is what was asked for; without it only a run of all mutants is written, to the default.
    """
    if folder is None and only:
        return None
    path = (folder or default) / name
    path.unlink(missing_ok=True)
    return path


def _in_its_race(given: argparse.Namespace) -> int:
    """Play each mutant's races; it fails where one is missed that no other guard covers."""
    from django.core.management import call_command

    from ...support.connections import plain_connection
    from .more import COVERED
    from .table import HEADING, lines, write

    call_command("migrate", verbosity=0)
    path = results_file("sql-mutants.json", folder=given.results, only=given.only)
    print(HEADING)
    results = []
    watcher = plain_connection()
    for line in lines([mutant for mutant in _playable(given) if given.only in mutant.what], watcher):
        results.append(line)
        print(line, flush=True)
    watcher.close()
    missed = [line.mutant for line in results if not line.is_caught]
    print(f"{len(results) - len(missed)} of {len(results)} caught")
    for mutant in missed:
        print(f"    {mutant}: {COVERED.get(mutant, 'MISSED')}")
    if path is not None:
        write(results, path)
    return 0 if COVERED.keys() >= set(missed) else 1


def _under_a_fault(given: argparse.Namespace) -> int:
    """Run a scenario with each mutant; it fails where one is unseen, which need not be wrong: not every fault fits."""
    from .real import run

    unseen = 0
    for mutant in [mutant for mutant in _playable(given) if given.only in mutant.what]:
        shown = run(mutant, given.scenario, jobs=given.jobs)
        unseen += not shown.is_caught
        print("caught" if shown.is_caught else "unseen", mutant.what, flush=True)
        for who, what in shown.said.items():
            print(f"    {who}: {what}", flush=True)
    return 1 if unseen else 0


def _under_its_fault(given: argparse.Namespace) -> int:
    """Run the table of real workers; it fails where one is unseen that should be caught."""
    from .real import run
    from .real_table import CASES, write

    path = results_file("sql-mutants-real.json", folder=given.results, only=given.only)
    shown, wrong = [], []
    for case in [case for case in CASES if given.only in case.mutant.what]:
        seen = run(case.mutant, case.scenario, jobs=case.jobs)
        shown.append((case, seen))
        print(f"{', '.join(seen.said) or 'unseen':<18} {case.scenario:<14} {case.mutant.what}", flush=True)
        wrong += [case.mutant.what] if not seen.is_caught and not case.covered_by else []
    print(f"{sum(seen.is_caught for _, seen in shown)} of {len(shown)} caught")
    for what in wrong:
        print(f"    MISSED: {what}")
    if path is not None:
        write(shown, path)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
