"""``make evidence``: write the tables of docs/evidence.md from the files in results/.

Each table stands between a line ``<!-- name -->`` and the next ``<!-- end -->``. What has no result file keeps its
table.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
RESULTS: Final = ROOT / "results"
PAGE: Final = ROOT / "docs" / "evidence.md"


def main() -> int:
    """Rewrite the tables; return the exit code: 1 if the page lacks the place of one."""
    argparse.ArgumentParser(prog="python -m spec.evidence", description=__doc__).parse_args()
    page = PAGE.read_text("utf-8")
    missing = []
    for name, make in TABLES.items():
        if not (table := make()):
            continue
        page, has_place = _placed(page, name, table)
        if not has_place:
            missing.append(name)
    PAGE.write_text(page, "utf-8")
    for name in missing:
        print(f"{PAGE} has no place for the table {name!r}: a line <!-- {name} --> and one <!-- end -->.")
    return 1 if missing else 0


def _placed(page: str, name: str, table: str) -> tuple[str, bool]:
    """Return the page with the table in its place, and whether it has one."""
    # One only: after an empty place the pattern would match once more, up to the end of the next table.
    place = rf"(?s)(?<=<!-- {name} -->\n).*?(?=<!-- end -->)"
    page, count = re.subn(place, _literal(table), page, count=1)
    return page, bool(count)


def _models() -> str:
    rows = [
        (f"`{one['name']}`", one["about"], _number(one["generated"]), _number(one["distinct"]), one["depth"] or "–",
         one["seconds"], one["verdict"])
        for one in _read("tlc.json") if not one["name"].startswith("mutants/")
    ]  # fmt: skip
    return _table(("configuration", "about", "generated", "distinct", "depth", "s", "verdict"), rows)


def _model_mutants() -> str:
    rows = [
        (f"`{one['name'].removeprefix('mutants/')}`", one["about"], _outcome(one))
        for one in _read("tlc.json") if one["name"].startswith("mutants/")
    ]  # fmt: skip
    return _table(("mutant", "what is gone", "TLC"), rows)


def _outcome(one: dict[str, Any]) -> str:
    return f"redundant: {one['redundant']}" if one["redundant"] else str(one["verdict"])


def _faults() -> str:
    results = [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("fault-*.json"))]
    rows = [
        (f"`{one['scenario']}`", one["what"], f"{one['succeeded']} of {one['jobs']}",
         _wrong(one), one["begins"], one["lost"], "–" if one["recovery"] is None else f"{one['recovery']:.1f}")
        for one in results if one["scenario"] != "mix"
    ]  # fmt: skip
    return _table(("scenario", "what", "ended well", "violations", "runs", "lost", "recovery, s"), rows)


def _mix() -> str:
    results = [json.loads(path.read_text("utf-8")) for path in sorted(RESULTS.glob("fault-mix-*.json"))]
    rows = [
        (one["jobs"], one["seed"], one["seconds"], len(one["faults"]), one["succeeded"], _wrong(one), one["begins"],
         one["lost"], one["refused"], *(f"{one['victims'][which]:.1f} s" for which in ("p50", "p95", "longest")))
        for one in results
    ]  # fmt: skip
    return _table(
        ("jobs", "seed", "s", "faults", "ended well", "violations", "runs", "lost", "enqueues that raised",
         "recovery p50", "p95", "longest"),
        rows,
    )  # fmt: skip


def _wrong(one: dict[str, Any]) -> int:
    return len(one["violations"]) + len(one["complaints"]) + (one["refusal"] is not None)


def _real_mutants() -> str:
    rows = [
        (one["mutant"], one["scenario"], ", ".join(one["said"]) or "–") for one in _read("sql-mutants-real.json")
    ]  # fmt: skip
    return _table(("mutant", "scenario", "seen by"), rows)


def _sql_mutants() -> str:
    mutants = _read("sql-mutants.json")
    seen = Counter(who for one in mutants for who in one["said"])
    columns = [who for who, _ in seen.most_common()]
    rows = [
        (one["mutant"], *("×" if who in one["said"] else "" for who in columns)) for one in mutants
    ]  # fmt: skip
    return _table(("mutant", *(f"{who} ({seen[who]})" for who in columns)), rows)


def _literal(text: str) -> str:
    """Return the text as a replacement that stands for itself."""
    return text.replace("\\", r"\\")


def _read(name: str) -> list[dict[str, Any]]:
    path = RESULTS / name
    if not path.exists():
        return []
    found: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
    return found


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _table(heading: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    lines = [_row(heading), *(_row(row) for row in rows)]
    if len(lines) == 1:
        return ""
    return "\n".join([lines[0], "|" + "---|" * (lines[0].count("|") - 1), *lines[1:]]) + "\n"


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


TABLES: Final[dict[str, Callable[[], str]]] = {
    "models": _models,
    "model mutants": _model_mutants,
    "faults": _faults,
    "mix": _mix,
    "sql mutants": _sql_mutants,
    "real mutants": _real_mutants,
}


if __name__ == "__main__":
    sys.exit(main())
