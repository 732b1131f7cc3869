"""What the tests of the pages of jobs share: their addresses, and the proof that nothing scanned the table."""

from __future__ import annotations

import re

from django.urls import reverse

from conveyor_django.admin import paginator

LIST = reverse("admin:conveyor_job_changelist")


def page_of(job) -> str:
    return reverse("admin:conveyor_job_change", args=[job.pk])


def job_queries(captured) -> list[str]:
    """Return the captured queries that read the table of jobs."""
    return [query["sql"] for query in captured if "conveyor_job" in query["sql"]]


def assert_no_scan(captured) -> None:
    """Fail on a count without a limit and on a search for distinct values."""
    for text in job_queries(captured):
        assert "DISTINCT" not in text.upper()
        if re.search(r"COUNT\s*\(", text, re.IGNORECASE):
            assert f"LIMIT {paginator.COUNTED + 1}" in text
