"""Which mutants of the TLA+ model break the guard that a mutant of the SQL breaks."""

from __future__ import annotations

from typing import Final

# By what a mutant's name has in it, the first that fits; the files in spec/tla/mutants, without their "conveyor-".
_COUNTERPARTS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("its fence and the ledger's key", ("fence-ledger", "ledger-key")),
    ("the version and the ledger's key", ("fence-version", "ledger-key")),
    ("the attempts' key", ("attempts-key",)),
    ("without its fence", ("fence-none-effects",)),
    ("that waits for", ()),
    ("without owner and state", ("fence-owner-state",)),
    ("without owner and version", ("fence-owner", "fence-version")),
    ("without the version", ("fence-version",)),
    ("without the owner", ("fence-owner", "fence-owner-failover")),
    ("without the state", ("fence-state",)),
    ("with its fence in an unlocked CTE", ("fence-snapshot",)),
    ("hold_fence with", ("fence-snapshot",)),
    ("renew_leases by owner", ("renew-by-owner", "renew-by-owner-for-ever")),
    ("rescue_jobs that reads without a lock", ("rescue-snapshot",)),
    ("rescue_jobs of leases that last", ("rescue-snapshot",)),
    ("release_unknown that knows jobs", ("unknown-kept",)),
    ("takes a permit by its id", ("cap-uncompared",)),
    ("compares permits without a lock", ("cap-snapshot",)),
    ("counts permits", ("cap-snapshot", "cap-uncompared")),
    ("lowered by one", ("edge-by-one",)),
    ("counted that were resolved before", ("edge-twice",)),
    ("keeps the version", ("version-stands",)),
    ("charges nothing", ("attempts-uncounted",)),
    ("begins the versions anew", ("requeue-version",)),
    ("requeue_jobs of what has succeeded", ("requeue-success",)),
    ("counts no loss", ("losses-uncounted",)),
    ("counts no release", ("releases-uncounted",)),
    ("forgets a request to cancel", ("cancel-ignored",)),
)


def counterparts(mutant: str) -> list[str]:
    """Return the names of the model's mutants; none where the model has no such guard."""
    named = next((names for words, names in _COUNTERPARTS if words in mutant), ())
    return [f"conveyor-{name}" for name in named]
