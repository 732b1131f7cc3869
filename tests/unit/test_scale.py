"""Time to scale: places, marks of the axis, and lengths of time in words."""

from __future__ import annotations

import pytest

from conveyor_django.admin.scale import LEAST_WIDTH, Scale, duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (0.0000004, "1 µs"),
        (0.000026, "26 µs"),
        (0.0009996, "1 ms"),
        (0.003, "3 ms"),
        (0.00346, "3.46 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1 s"),
        (1.5, "1.5 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min"),
        (60, "1 min"),
        (3599.7, "1 h"),
        (3 * 86400, "3 d"),
        (3 * 86400 + 4 * 3600 + 59, "3 d 4 h"),
        (400 * 86400, "400 d"),
        (-1.5, "−1.5 s"),
    ],
)
def test_a_length_of_time_is_written_in_at_most_two_units(seconds, text):
    assert duration(seconds) == text


def test_an_instant_stands_where_its_part_of_the_span_is():
    scale = Scale(10, 100, 200)
    assert [scale.at(seconds) for seconds in (0, 2.5, 10)] == [100, 125, 200]
    # What cannot be is at the edge.
    assert (scale.at(-1), scale.at(11)) == (100, 200)


def test_without_a_span_everything_stands_at_the_left():
    scale = Scale(0, 100, 200)
    assert (scale.at(0), scale.bar(0, 0), scale.ticks()) == (100, (100, LEAST_WIDTH), [(100, "0")])


@pytest.mark.parametrize("span", [0.003, 3 * 86400])
def test_a_run_of_any_length_is_seen_and_never_sticks_out(span):
    scale = Scale(span, 0, 100)
    assert scale.bar(span * 0.999999, span) == (100 - LEAST_WIDTH, LEAST_WIDTH)
    assert scale.bar(0, span) == (0, 100)
