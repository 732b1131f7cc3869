"""Charts as SVG: drawn here, without a script; coloured by conveyor/dashboard.css, so that light and dark both work."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

if TYPE_CHECKING:
    from ..operate.overview import Bucket, Count, Ended

# In units of the drawing, which is as wide as its place on the page.
WIDTH, HEIGHT = 480, 140
_LEFT, _TOP, _BOTTOM = 50, 10, 22
_PLOT_WIDTH, _PLOT_HEIGHT = WIDTH - _LEFT, HEIGHT - _TOP - _BOTTOM
_GAP: Final = 1.0
# A single failure among thousands has to be seen.
_LEAST: Final = 3.0
# As wide as the line around what is hollow, in conveyor/dashboard.css.
_OUTLINE: Final = 1.0
# Labels of the time axis.
_LABELS: Final = 6
# Failures that the description tells one by one.
_TOLD: Final = 5


def bar_chart(buckets: Sequence[Bucket], *, name: str, heading: str, per: str) -> SafeString:
    """Return bars of what succeeded, failed and was retried; `name` is unique on the page, `per` a bucket's length."""
    most = max(1, *(_height(bucket) for bucket in buckets))
    top = _round_up(most)
    return format_html(
        '<svg class="conveyor-chart" viewBox="0 0 {} {}" role="img" aria-labelledby="{}-title {}-desc">'
        '<title id="{}-title">{}</title><desc id="{}-desc">{}</desc>{}{}{}</svg>',
        WIDTH, HEIGHT, name, name, name, heading, name, describe(buckets, per), _grid(top), _bars(buckets, top),
        _times(buckets),
    )  # fmt: skip


def describe(buckets: Sequence[Bucket], per: str) -> str:
    """Return in words what the chart shows."""
    return f"{_told_ends(buckets, per)} {_told_retries(buckets, per)}"


def _told_ends(buckets: Sequence[Bucket], per: str) -> str:
    busiest = max(buckets, key=_total)
    if not _total(busiest):
        return "Nothing ended."
    text = f"At most {_total(busiest):,} ended in one {per}, from {_clock(busiest.start)} on."
    failed = [bucket for bucket in buckets if bucket.ended.failed.jobs]
    if not failed:
        return f"{text} None failed."
    told = ", ".join(f"{_clock(bucket.start)}: {bucket.ended.failed}" for bucket in failed[-_TOLD:])
    more = len(failed) - _TOLD
    return f"{text} Failed from {told}{f', and in {more} before' if more > 0 else ''}."


def _told_retries(buckets: Sequence[Bucket], per: str) -> str:
    most = max(buckets, key=_retried)
    if not _retried(most):
        return "No run was retried."
    return f"At most {most.ended.retried} runs were retried in one {per}, from {_clock(most.start)} on."


def _grid(top: int) -> SafeString:
    lines = ((_height_of(value, top), f"{value:,}") for value in dict.fromkeys((0, top // 2, top)))
    return format_html_join(
        "",
        '<line class="conveyor-grid" x1="{}" x2="{}" y1="{}" y2="{}"/>'
        '<text class="conveyor-label" x="{}" y="{}" text-anchor="end" aria-hidden="true">{}</text>',
        ((_LEFT, WIDTH, _at(height), _at(height), _LEFT - 6, _at(height, 4), text) for height, text in lines),
    )


def _bars(buckets: Sequence[Bucket], top: int) -> SafeString:
    return format_html_join("", "<g><title>{}</title>{}</g>", _told_bars(buckets, top))


def _told_bars(buckets: Sequence[Bucket], top: int) -> Iterator[tuple[str, SafeString]]:
    for place, bucket in enumerate(buckets):
        if _height(bucket):
            yield _told(bucket), _stack(place, len(buckets), bucket, top)


def _stack(place: int, places: int, bucket: Bucket, top: int) -> SafeString:
    """Return a bucket's bar: what succeeded, then what was cancelled, what failed and, hollow, the runs retried."""
    step = _PLOT_WIDTH / places
    floor, parts = 0.0, []
    for kind, count in _series(bucket.ended):
        if count.jobs:
            height = max(_LEAST, _height_of(count.jobs, top))
            # An outline is as wide inside its rectangle as outside.
            inset = _OUTLINE / 2 if kind == "again" else 0.0
            parts.append(
                (
                    kind, f"{_LEFT + place * step + inset:.1f}", _at(floor + height - inset),
                    f"{step - _GAP - 2 * inset:.1f}", f"{height - 2 * inset:.1f}",
                )
            )  # fmt: skip
            floor += height
    return format_html_join("", '<rect class="conveyor-{}" x="{}" y="{}" width="{}" height="{}"/>', parts)


def _series(ended: Ended) -> tuple[tuple[str, Count], ...]:
    return (("good", ended.succeeded), ("idle", ended.cancelled), ("bad", ended.failed), ("again", ended.retried))


def _times(buckets: Sequence[Bucket]) -> SafeString:
    step = _PLOT_WIDTH / len(buckets)
    every = len(buckets) // _LABELS
    return format_html_join(
        "",
        '<text class="conveyor-label" x="{}" y="{}" aria-hidden="true">{}</text>',
        (
            (f"{_LEFT + place * step:.1f}", HEIGHT - 6, _clock(buckets[place].start))
            for place in range(0, len(buckets), every)
        ),
    )


def _told(bucket: Bucket) -> str:
    ended = bucket.ended
    return (
        f"{_clock(bucket.start)}: {ended.succeeded} succeeded, {ended.failed} failed, {ended.cancelled} cancelled; "
        f"{ended.retried} runs retried"
    )


def _total(bucket: Bucket) -> int:
    """Return how many jobs ended."""
    return bucket.ended.succeeded.jobs + bucket.ended.failed.jobs + bucket.ended.cancelled.jobs


def _retried(bucket: Bucket) -> int:
    return bucket.ended.retried.jobs


def _height(bucket: Bucket) -> int:
    """Return all that its bar shows."""
    return _total(bucket) + _retried(bucket)


def _height_of(value: int, top: int) -> float:
    return value / top * _PLOT_HEIGHT


def _at(height: float, shift: int = 0) -> str:
    """Return where a height above the axis is, counted from the top."""
    return f"{_TOP + _PLOT_HEIGHT - height + shift:.1f}"


def _round_up(value: int) -> int:
    """Return the next even 1, 2 or 5 times a power of ten: what an axis can end with."""
    power = int(10 ** (len(str(value)) - 1))
    return max(2, next(step * power for step in (1, 2, 5, 10) if step * power >= value))


def _clock(instant: dt.datetime) -> str:
    return f"{timezone.localtime(instant):%H:%M}"
