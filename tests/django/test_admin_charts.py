"""The dashboard's charts: bars to scale, words for who sees none, times in the project's zone."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

import pytest
from django.contrib.staticfiles import finders

from conveyor_django.admin.charts import bar_chart, describe
from conveyor_django.operate.overview import Bucket, Count, Ended


def buckets(*ended: tuple[int, ...]) -> list[Bucket]:
    """Return a bucket for each: so many jobs succeeded, failed, were cancelled; and so many runs were retried."""
    start = dt.datetime(2031, 1, 1, 10, 0, tzinfo=dt.UTC)
    return [
        Bucket(
            start=start + dt.timedelta(minutes=place),
            ended=Ended(succeeded=Count(good), failed=Count(bad), cancelled=Count(idle), retried=Count(sum(again))),
        )
        for place, (good, bad, idle, *again) in enumerate(ended)
    ]


def bars(chart: str) -> list[dict[str, float]]:
    """Return the rectangles of a chart."""
    return [
        {name: float(value) for name, value in re.findall(r'(x|y|width|height)="([\d.]+)"', bar)}
        for bar in re.findall(r"<rect.*?>", chart)
    ]


class TestCharts:
    def test_bars_are_as_high_as_their_counts_and_stand_on_each_other(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (50, 25, 25)), name="c", heading="Title", per="minute")
        good, idle, bad = bars(chart)
        assert good["height"] == pytest.approx(2 * bad["height"], abs=0.1)
        assert good["y"] == pytest.approx(idle["y"] + idle["height"], abs=0.11)
        assert idle["y"] == pytest.approx(bad["y"] + bad["height"], abs=0.11)
        assert good["x"] + good["width"] <= 480
        # 100 is the end of the axis, and the top of the drawing.
        assert bad["y"] == pytest.approx(10, abs=0.11)

    def test_runs_that_were_retried_stand_on_top_and_are_hollow(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (25, 25, 0, 50)), name="c", heading="Title", per="minute")
        _, bad, again = bars(chart)
        assert re.findall(r'<rect class="conveyor-(\w+)"', chart) == ["good", "bad", "again"]
        # With the line around it, half of which is outside, it is as large as the others.
        assert again["height"] + 1 == pytest.approx(2 * bad["height"], abs=0.2)
        assert again["y"] + again["height"] + 0.5 == pytest.approx(bad["y"], abs=0.2)
        assert (again["x"] - 0.5, again["width"] + 1) == pytest.approx((bad["x"], bad["width"]), abs=0.11)
        assert again["y"] - 0.5 == pytest.approx(10, abs=0.11)
        assert "<title>10:05: 25 succeeded, 25 failed, 0 cancelled; 50 runs retried</title>" in chart
        assert "rect.conveyor-again { fill: none;" in Path(finders.find("conveyor/dashboard.css")).read_text("utf-8")

    def test_retried_runs_alone_make_a_bar(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (0, 0, 0, 3)), name="c", heading="Title", per="minute")
        assert len(bars(chart)) == 1

    def test_one_failure_among_thousands_is_seen(self):
        chart = bar_chart(buckets(*[(0, 0, 0)] * 5, (10_000, 1, 0)), name="c", heading="Title", per="minute")
        [height] = re.findall(r'<rect class="conveyor-bad".*? height="([\d.]+)"', chart)
        assert float(height) >= 3

    def test_it_has_a_title_and_a_description(self):
        chart = bar_chart(buckets(*[(1, 0, 0)] * 6), name="c", heading="<Title>", per="minute")
        assert 'role="img" aria-labelledby="c-title c-desc"' in chart
        assert '<title id="c-title">&lt;Title&gt;</title>' in chart
        assert (
            '<desc id="c-desc">At most 1 ended in one minute, from 10:00 on. None failed. No run was retried.</desc>'
            in chart
        )

    def test_in_words(self):
        assert describe(buckets((0, 0, 0)), "hour") == "Nothing ended. No run was retried."
        assert describe(buckets((5, 0, 0), (3, 4, 0)), "minute") == (
            "At most 7 ended in one minute, from 10:01 on. Failed from 10:01: 4. No run was retried."
        )
        assert "10:06: 1, and in 2 before. No" in describe(buckets(*[(0, 1, 0)] * 7), "minute")
        assert describe(buckets((0, 0, 0, 1), (0, 0, 0, 1200), (0, 0, 0, 9)), "minute") == (
            "Nothing ended. At most 1,200 runs were retried in one minute, from 10:01 on."
        )

    def test_times_are_those_of_the_project(self, settings):
        settings.TIME_ZONE = "Asia/Tokyo"
        assert "from 19:00 on" in describe(buckets((1, 0, 0)), "minute")
