"""Write the tables and the plots of docs/performance.md from a results file.

    python -m benchmarks.report results/benchmarks-here.json

Each table stands between a line ``<!-- name -->``, the workload's name, and the next ``<!-- end -->``; what a long
workload was like minute by minute follows below a name with ``-minutes``, and what was measured on is ``measured-on``.
The plots go to docs/images/, as PNG and SVG. A workload that was not run keeps its table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from .figures import Spread, by_entrant, spread, with_shares
from .plots import NoPlots, draw

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "performance.md"
IMAGES: Final = ROOT / "docs" / "images"

# The figures of a table, with their headings; a table has those that its runs have.
COLUMNS: Final = {
    "jobs_per_second": "jobs/s",
    "of_ceiling": "of the ceiling",
    "claim_p50_ms": "claim p50, ms",
    "claim_p95_ms": "claim p95, ms",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "p99_ms": "p99, ms",
    "single_per_second": "one by one, jobs/s",
    "of_bare": "of a bare INSERT",
    "bulk_per_second": "bulk, jobs/s",
    "worker_cpu_ms_per_job": "worker CPU, ms/job",
    "server_cpu_ms_per_job": "server CPU, ms/job",
    "wal_bytes_per_job": "WAL, bytes/job",
    "bulk_wal_bytes_per_job": "WAL in bulk, bytes/job",
    "fsyncs_per_job": "fsyncs/job",
    "commits_per_job": "commits/job",
    "dead_rows_per_job": "dead rows/job",
}
MINUTE_COLUMNS: Final = {
    "jobs_per_second": "jobs/s",
    "p50_ms": "p50, ms",
    "p95_ms": "p95, ms",
    "p99_ms": "p99, ms",
    "resident_mb": "workers' memory, MB",
    "dead_rows": "dead rows",
    "tables_mb": "tables, MB",
    "indexes_mb": "indexes, MB",
}
Runs = Sequence[Mapping[str, Any]]


def main() -> int:
    """Rewrite the tables and draw the plots; exit code 1 if the page lacks a place, or nothing can be drawn."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.report", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--page", type=Path, default=PAGE, help="default: docs/performance.md")
    parser.add_argument("--images", type=Path, default=IMAGES, help="default: docs/images")
    arguments = parser.parse_args()
    given = json.loads(arguments.results.read_text("utf-8"))
    runs = with_shares(given["runs"])
    made = {"measured-on": measured_on(given), **tables(runs)}
    problems = []
    try:
        for name in draw(runs, given["titles"], arguments.images):
            made[name] += f"\n![{given['titles'][name]}]({arguments.images.name}/{name}.svg)\n"
    except NoPlots as error:
        problems.append(str(error))
    page, missing = rewrite(arguments.page.read_text("utf-8"), made)
    arguments.page.write_text(page, "utf-8")
    place = f"{arguments.page} has no place for the table"
    problems += [f"{place} {name!r}: a line <!-- {name} --> and one <!-- end -->." for name in missing]
    print("\n".join(problems or [f"written: {arguments.page}, {arguments.images}"]))
    return 1 if problems else 0


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


def tables(runs: Runs) -> dict[str, str]:
    """Return {workload: its table}, and that of its minutes where it has any."""
    made = {}
    for name in dict.fromkeys(run["workload"] for run in runs):
        entrants = by_entrant(runs, name)
        made[name] = _table(entrants)
        if minutes := _minutes(entrants):
            made[f"{name}-minutes"] = minutes
    return made


def measured_on(given: Mapping[str, Any]) -> str:
    """Return the table of the machine, the server and the versions."""
    machine, server = given["machine"], given["server"]
    commit = server["commit_ms"]
    settings = ", ".join(f"{name} = {value}" for name, value in server["parameters"].items())
    rows = [
        ("begun, at commit", f"{given['began']}, {given['commit']}"),
        ("machine", f"{machine['cpus']} CPUs, {machine['memory_gb']} GB, {machine['system']}"),
        ("server", f"{server['version'].split(' on ')[0]}, fsync = {server['fsync']}, {settings}"),
        ("a commit of one row, ms", f"median {commit['median']}, p95 {commit['p95']}"),
        ("Celery's broker", f"{given['redis'].partition(' sha')[0] or 'none'}, without files"),
        ("rounds", str(given["rounds"])),
        *((name, _versions(found)) for name, found in given["versions"].items()),
        *((name, f"took no part: {reason}") for name, reason in given["missing"].items()),
    ]
    return _lines([["", ""], *map(list, rows)])


def _versions(found: Mapping[str, str]) -> str:
    """Return the versions that matter: of Python, of the drivers, of frameworks and of the queues themselves."""
    telling = ("python", "django", "psycopg", "asyncpg", "uvloop", "celery", "redis", "kombu", "oban", "procrastinate")
    return ", ".join(
        f"{name} {version}" for name, version in found.items()
        if name.lower() in telling or name.lower().startswith(("django-", "pgqueuer", "awa"))
    )  # fmt: skip


def _table(entrants: Mapping[str, Runs]) -> str:
    columns = _present(COLUMNS, [run for runs in entrants.values() for run in runs])
    lines = [["entrant", *(COLUMNS[name] for name in columns), "rounds", "cut", "lost", "doubled", "failed"]]
    for label, runs in entrants.items():
        cells = [_cell(spread(run.get(name) for run in runs)) for name in columns]
        lines.append([f"`{label}`", *cells, str(len(runs)), *_counts(runs)])
    return _lines(lines)


def _minutes(entrants: Mapping[str, Runs]) -> str:
    """Return the table of the entrants' minutes, each over the rounds; nothing where there are none."""
    found = {label: _by_minute(runs) for label, runs in entrants.items()}
    columns = _present(MINUTE_COLUMNS, [run for minutes in found.values() for runs in minutes.values() for run in runs])
    lines = [["entrant", "minute", *(MINUTE_COLUMNS[name] for name in columns)]]
    for label, minutes in found.items():
        for minute, runs in minutes.items():
            lines.append(
                [f"`{label}`", str(minute), *(_cell(spread(run.get(name) for run in runs)) for name in columns)]
            )
    return _lines(lines) if len(lines) > 1 else ""


def _by_minute(runs: Runs) -> dict[int, list[Mapping[str, Any]]]:
    found: dict[int, list[Mapping[str, Any]]] = {}
    for run in runs:
        for minute in run.get("minutes", ()):
            found.setdefault(minute["minute"], []).append(minute)
    return found


def _present(columns: Iterable[str], runs: Runs) -> list[str]:
    return [name for name in columns if any(name in run for run in runs)]


def _lines(rows: Sequence[Sequence[str]]) -> str:
    """Return a table of Markdown; the first row is its heading."""
    heading, *others = rows
    return "".join(f"| {' | '.join(cells)} |\n" for cells in (heading, ["---"] * len(heading), *others))


def _counts(runs: Runs) -> list[str]:
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
