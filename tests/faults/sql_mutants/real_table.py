"""The main guards' mutants under real workers, each under the fault in which its loss should show."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from ...concurrency.mutants import Mutant
from .more import PLAYED
from .real import Shown

JOBS: Final = 24


@dataclass(frozen=True, kw_only=True)
class Case:
    """A mutant and a scenario; `covered_by` says why real workers need not show it there, if so."""

    mutant: Mutant
    scenario: str
    jobs: int = JOBS
    covered_by: str = ""


_NAMED: Final = {mutant.what: mutant for mutant in PLAYED}
_UNRENEWED: Final = (
    "a thawed process knows by its own clock that the lease is over, and renews nothing of it; its sessions are ended"
)
_UNMET: Final = "only two claims within one statement's time show it, which is chance: the race is for that"

CASES: Final = [
    Case(mutant=_NAMED[what], scenario=scenario, covered_by=covered_by)
    for what, scenario, covered_by in [
        ("succeed_jobs without owner and version", "thaw-early", ""),
        ("end_attempts without owner and version", "thaw-early", ""),
        ("record_step without owner and version", "thaw-early", ""),
        ("hold_fence without owner and version", "thaw-early", ""),
        ("renew_leases without owner and version", "thaw-early", _UNRENEWED),
        ("renew_leases by owner, whatever is named", "thaw-early", _UNRENEWED),
        ("rescue_jobs of leases that last", "calm", ""),
        ("rescue_jobs that counts no loss", "half-open", ""),
        ("claim_jobs without a lock", "calm", ""),
        ("claim_jobs that counts permits", "calm", _UNMET),
        ("claim_jobs that keeps the version", "kill-child", ""),
        ("a child lowered by one, however many edges were resolved", "calm", ""),
    ]
]


def write(shown: Iterable[tuple[Case, Shown]], path: Path) -> None:
    """Write all runs to a file, whose folder need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = [
        {"jobs": case.jobs, "caught": seen.is_caught, "said": seen.said, "covered": case.covered_by or None}
        | asdict(seen)
        for case, seen in shown
    ]
    path.write_text(json.dumps(entries, indent=2) + "\n")
