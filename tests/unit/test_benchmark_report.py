"""What the benchmarks make of their figures: tables in their places, shares, plots."""

from __future__ import annotations

from benchmarks.catalog import parse
from benchmarks.figures import (
    Spread,
    with_shares,
)
from benchmarks.plots import bars, panels
from benchmarks.report import measured_on, rewrite, tables
from spec.evidence import _placed


def test_a_table_is_written_between_its_markers():
    runs = [
        {"workload": "noop", "entrant": "conveyor", "jobs_per_second": rate, "lost": 0} for rate in (1000.0, 3000.0)
    ]
    page, missing = rewrite("a\n<!-- noop -->\nold\n<!-- end -->\nb\n", tables(runs) | {"other": ""})
    assert "| `conveyor` | 2,000 (1,000–3,000) | 2 | 0 | 0 | 0 | 0 |" in page
    assert "old" not in page
    assert page.startswith("a\n")
    assert page.endswith("<!-- end -->\nb\n")
    assert missing == ["other"]


def test_an_empty_place_is_filled_once_and_the_next_table_stays():
    page = "<!-- a -->\n<!-- end -->\n<!-- b -->\nmine\n<!-- end -->\n"
    assert rewrite(page, {"a": "new\n"}) == (page.replace("-->\n<!-- end", "-->\nnew\n<!-- end", 1), [])


def test_the_tables_of_the_evidence_are_placed_alike():
    page = "<!-- a -->\n<!-- end -->\n<!-- b -->\nmine\n<!-- end -->\n"
    assert _placed(page, "a", "new\n") == (page.replace("-->\n<!-- end", "-->\nnew\n<!-- end", 1), True)
    assert _placed(page, "c", "new\n") == (page, False)


def run(entrant: str, **figures: object) -> dict[str, object]:
    """Return what a run of this entrant left behind."""
    parsed = parse(entrant)
    head = {"workload": "noop", "round": 0, "entrant": entrant, "peer": parsed.peer.name, "options": parsed.options}
    return {**head, **figures}


def test_a_share_is_of_the_ceiling_at_the_same_size_in_the_same_round():
    runs = [
        run("conveyor@processes=2,concurrency=16", jobs_per_second=500.0),
        run("conveyor@processes=2,concurrency=16", jobs_per_second=900.0, round=1),
        run("ceiling@processes=2,batch=16", jobs_per_second=1000.0),
        run("ceiling@processes=2,batch=32", jobs_per_second=2000.0),
        run("oban@processes=2,concurrency=16", jobs_per_second=100.0),
    ]
    assert [each.get("of_ceiling") for each in with_shares(runs)] == [0.5, None, None, None, None]


def test_the_minutes_of_a_run_have_a_table_of_their_own():
    minute = {"minute": 1, "jobs_per_second": 400.0, "dead_rows": 7}
    runs = [run("conveyor", jobs_per_second=500.0, minutes=[minute]) for _ in range(2)]
    made = tables(runs)
    assert list(made) == ["noop", "noop-minutes"]
    assert made["noop-minutes"].splitlines() == [
        "| entrant | minute | jobs/s | dead rows |", "| --- | --- | --- | --- |", "| `conveyor` | 1 | 400 | 7 |",
    ]  # fmt: skip


def test_what_was_measured_on_is_said_with_each_queues_python():
    said = measured_on({
        "machine": {"cpus": 2, "memory_gb": 4, "system": "Linux"}, "began": "then", "commit": "abc", "rounds": 5,
        "redis": "Redis server v=7.0.15 sha=0:0",
        "server": {"version": "PostgreSQL 18.6 on x86", "fsync": "on", "parameters": {"max_connections": "300"},
                   "commit_ms": {"median": 0.4, "p95": 0.9}},
        "versions": {"oban": {"oban": "0.7.0", "pip": "24", "python": "3.13.0"}}, "missing": {"celery": "no server"},
    })  # fmt: skip
    assert "| oban | oban 0.7.0, python 3.13.0 |\n" in said
    assert "| Celery's broker | Redis server v=7.0.15, without files |\n" in said
    assert "| celery | took no part: no server |\n" in said
    assert "| server | PostgreSQL 18.6, fsync = on, max_connections = 300 |\n" in said


def test_bars_show_the_most_telling_figures_and_leave_out_who_has_none():
    runs = [run("oban", p50_ms=1.0, p99_ms=3.0), run("awa", error="no"), run("celery", p50_ms=2.0)]
    assert [(shown.heading, list(shown.spreads)) for shown in bars(runs, "noop")] == [
        ("to the start, p50, ms", ["oban", "celery"]),
        ("to the start, p99, ms", ["oban"]),
    ]
    # A bulk enqueue comes before every other run, too.
    drained = run("oban", jobs_per_second=4.0, bulk_per_second=9.0)
    assert [(shown.heading, shown.spreads) for shown in bars([drained], "noop")] == [
        ("jobs/s", {"oban": Spread(4.0, 4.0, 4.0)})
    ]
    assert bars([run("awa", error="no")], "noop") == []


def test_panels_have_the_median_of_each_minute():
    runs = [run("oban", minutes=[{"minute": 1, "dead_rows": rows}]) for rows in (1, 2, 9)]
    assert [(panel.heading, panel.lines) for panel in panels(runs, "noop")] == [("dead rows", {"oban": [(1, 2)]})]
    assert panels([run("oban")], "noop") == []
