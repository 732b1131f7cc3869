"""The benchmarks' arithmetic, the handlers' record and the report's markers."""

from __future__ import annotations

import pytest

from benchmarks import recorder
from benchmarks.catalog import PEERS, entrants_for, parse
from benchmarks.figures import Spread, latencies, lost_and_doubled, minutes, per_job, percentile, rate, spread
from benchmarks.recorder import Recorder, Run
from benchmarks.report import rewrite, tables


def test_a_percentile_is_one_of_the_values():
    assert [percentile([4.0, 1.0, 3.0, 2.0], share) for share in (0, 0.5, 0.75, 0.76, 1)] == [1, 2, 3, 4, 4]
    assert percentile(list(range(1, 101)), 0.99) == 99


def test_no_values_have_no_percentile():
    with pytest.raises(ValueError, match="no percentile"):
        percentile([], 0.5)


def test_rates():
    assert rate(500, 0.25) == 2000.0
    assert per_job(1000, 3, 0) == 333
    assert per_job(1000, 0) is None


def test_latencies_are_in_milliseconds():
    assert latencies([Run(0, 1.0, 1.002)]) == {"p50_ms": 2.0, "p95_ms": 2.0, "p99_ms": 2.0, "max_ms": 2.0}
    assert latencies([]) == {}


def test_lost_are_numbers_that_never_ran_and_doubled_those_that_ran_again():
    runs = [Run(number, 0.0, 0.0) for number in (0, 1, 1, 1, 3)]
    assert lost_and_doubled(range(4), runs) == (1, 1)


def test_the_spread_leaves_out_rounds_without_the_figure():
    assert spread([3.0, None, 1.0, 2.0]) == Spread(1.0, 2.0, 3.0)
    assert spread([None]) is None


def test_runs_by_minute_have_the_empty_minutes_too():
    runs = [Run(0, 0.0, 10.0), Run(1, 0.0, 135.0)]
    assert [len(minute) for minute in minutes(runs, 10.0)] == [1, 0, 1]


def test_what_is_noted_is_read_in_the_order_of_the_starts(tmp_path):
    mine = Recorder(tmp_path)
    for number in (7, 3):
        mine.note(number, 1.5)
    assert recorder.count(tmp_path) == 2
    assert [(run.sequence, run.enqueued) for run in recorder.runs(tmp_path)] == [(7, 1.5), (3, 1.5)]


def test_an_entrant_is_written_as_it_is_read():
    entrant = parse("pgqueuer@processes=2,batch=100")
    assert entrant.options == {"processes": 2, "batch": 100}
    assert (entrant.label, entrant.commands) == ("pgqueuer@processes=2,batch=100", 2)
    assert parse("conveyor@processes=4").commands == 1


@pytest.mark.parametrize("text", ["nobody", "oban@fast"])
def test_what_is_no_entrant_is_refused(text):
    with pytest.raises(ValueError, match=r"no job queue|no option"):
        parse(text)


def test_a_reference_takes_part_only_where_it_has_settings():
    assert entrants_for(PEERS["ceiling"], "idle") == []
    assert entrants_for(PEERS["oban"], "idle") == entrants_for(PEERS["oban"], "32")


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
