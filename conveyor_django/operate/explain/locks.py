"""Whether somebody holds the job's row: whatever would claim, end or rescue it passes over it then."""

from __future__ import annotations

from django.db import transaction

from ...managers.looking import Locker, LookManager
from ..wording import lasting, listed
from .answer import Code, Reason
from .scene import Scene


def row_locked(scene: Scene) -> list[Reason]:
    """Say which backend holds the job's row, if one does."""
    look: LookManager = LookManager().db_manager(scene.alias)
    if not _is_locked(look, scene):
        return []
    lockers = look.find_lockers(scene.job.pk, now=scene.now)
    certain = [locker for locker in lockers if locker.certain]
    return [_reason(certain, certain=True) if certain else _reason(lockers, certain=False)]


def _is_locked(look: LookManager, scene: Scene) -> bool:
    # What the look may have locked for it is free again before anything else is asked.
    with transaction.atomic(using=scene.alias):
        locked = look.probe_job(scene.job.pk)
        transaction.set_rollback(True, using=scene.alias)
    return locked


def _reason(lockers: list[Locker], *, certain: bool) -> Reason:
    pids = [locker.pid for locker in lockers if locker.pid is not None]
    if not pids:
        text = "its row is locked by a prepared transaction: claims, outcomes and rescues pass over it."
        return Reason(Code.ROW_LOCKED, text, "Look at SELECT * FROM pg_prepared_xacts; and end it there.")
    who = listed(_named(locker) for locker in lockers if locker.pid is not None)
    text = (
        f"its row is locked by {'' if certain else 'one of these: '}{who}. Claims, outcomes and rescues pass over it."
    )
    return Reason(
        Code.ROW_LOCKED,
        text,
        f"A lock of a moment is everyday. If it stays: end that transaction where it was begun, or its session: "
        f"SELECT pg_terminate_backend({pids[0]});",
    )


def _named(locker: Locker) -> str:
    told = [
        *([locker.application_name] if locker.application_name else []),
        *([locker.state] if locker.state else []),
        *([] if locker.seconds is None else [f"in a transaction for {lasting(locker.seconds)}"]),
    ]
    return f"backend {locker.pid}" + (f" ({', '.join(told)})" if told else "")
