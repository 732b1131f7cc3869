"""`manage.py conveyor_worker`: values that no worker could honour are refused before it starts."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("--poll", "0", "--poll must be a number from 0.001 to 3,600 (seconds), not 0.0"),
        ("--poll", "-1", "--poll must be a number from 0.001 to 3,600 (seconds), not -1.0"),
        ("--poll", "nan", "--poll must be a number from 0.001 to 3,600 (seconds), not nan"),
        ("--poll", "inf", "--poll must be a number from 0.001 to 3,600 (seconds), not inf"),
        ("--poll", "x", "argument --poll: invalid float value: 'x'"),
        ("--grace", "-1", "--grace must be a number from 0 to 86,400 (seconds), not -1.0"),
        ("--grace", "nan", "--grace must be a number from 0 to 86,400 (seconds), not nan"),
        ("--grace", "inf", "--grace must be a number from 0 to 86,400 (seconds), not inf"),
        ("--processes", "0", "argument --processes: must be a whole number of at least 1, not '0'"),
        ("--concurrency", "x", "argument --concurrency: must be a whole number of at least 1, not 'x'"),
        ("--max-jobs", "1.5", "argument --max-jobs: must be a whole number of at least 1, not '1.5'"),
        ("--max-rss", "-3", "argument --max-rss: must be a whole number of at least 1, not '-3'"),
    ],
)
def test_a_number_that_is_none_for_it(db: None, option: str, value: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        call_command("conveyor_worker", "--drain", option, value, skip_checks=True)
    assert says in str(caught.value)
