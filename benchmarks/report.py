"""Write the tables of docs/performance.md from a results file.

    python -m benchmarks.report results/benchmarks-here.json

Each table stands between a line ``<!-- name -->``, the workload's name, and the next ``<!-- end -->``. A workload that
was not run keeps its table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .figures import Spread, by_entrant, spread

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "performance.md"

# The figures of a table, with their headings; a table has those that its runs have.
COLUMNS: Final = {
    "jobs_per_second": "jobs/s",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "p99_ms": "p99, ms",
    "single_per_second": "one by one, jobs/s",
    "bulk_per_second": "bulk, jobs/s",
    "worker_cpu_ms_per_job": "worker CPU, ms/job",
    "server_cpu_ms_per_job": "server CPU, ms/job",
    "wal_bytes_per_job": "WAL, bytes/job",
    "fsyncs_per_job": "fsyncs/job",
    "commits_per_job": "commits/job",
    "dead_rows_per_job": "dead rows/job",
}


def main() -> int:
    """Rewrite the tables; exit code 1 if the page lacks the place of one."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    given = json.loads(parser.parse_args().results.read_text("utf-8"))
    page, missing = rewrite(PAGE.read_text("utf-8"), tables(given["runs"]))
    PAGE.write_text(page, "utf-8")
    for name in missing:
        print(f"{PAGE} has no place for the table {name!r}: a line <!-- {name} --> and one <!-- end -->.")
    return 1 if missing else 0


def rewrite(page: str, made: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the page with these tables between their markers, and the names of those that have no place in it."""
    missing = []
    for name, table in made.items():
        literal = table.replace("\\", r"\\")
        # One only: after an empty place the pattern would match once more, up to the end of the next table.
        place = rf"(?s)(?<=<!-- {re.escape(name)} -->\n).*?(?=<!-- end -->)"
        page, count = re.subn(place, literal, page, count=1)
        if not count:
            missing.append(name)
    return page, missing


def tables(runs: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return {workload: its table}."""
    return {name: _table(by_entrant(runs, name)) for name in dict.fromkeys(run["workload"] for run in runs)}


def _table(entrants: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    columns = [name for name in COLUMNS if any(name in run for runs in entrants.values() for run in runs)]
    lines = [["entrant", *(COLUMNS[name] for name in columns), "rounds", "cut", "lost", "doubled", "failed"]]
    lines.append(["---"] * len(lines[0]))
    for label, runs in entrants.items():
        cells = [_cell(spread(run.get(name) for run in runs)) for name in columns]
        lines.append([f"`{label}`", *cells, str(len(runs)), *_counts(runs)])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _counts(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return how many runs were cut, how many jobs were lost and doubled, and how many runs failed."""
    sums = [sum(int(run.get(name, 0)) for run in runs) for name in ("was_cut", "lost", "doubled")]
    return [str(number) for number in [*sums, sum("error" in run for run in runs)]]


def _cell(value: Spread | None) -> str:
    """Return the median, and least and most where the rounds differ."""
    if value is None:
        return "–"
    least, median, most = (f"{each:,.0f}" if abs(each) >= 100 else f"{each:,.3g}" for each in value)  # noqa: PLR2004
    return median if least == most else f"{median} ({least}–{most})"


if __name__ == "__main__":
    sys.exit(main())
