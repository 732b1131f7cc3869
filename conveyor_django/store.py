"""Store validated jobs: one in one statement, many in one transaction; and the loop behind a key (rule 9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, TypeVar

from django.db import ProgrammingError
from psycopg.errors import UndefinedTable

from .conflicts import Entry, Existing, Key, check_replaceable, settle
from .errors import ConveyorError
from .managers.jobs import Accepted, Holder
from .states import OnConflict
from .transactions import joined

if TYPE_CHECKING:
    from .managers.jobs import JobManager
    from .pipeline import Hint

# A key that was taken at the insert and is free at the look behind it was pruned between: not often in a row.
KEY_TRIES: Final = 5
# A job that is replaced by others in the meantime: each time one of them was faster, so as often as there are others.
REPLACE_TRIES: Final = 1_000
# Rows, or keys, of one statement.
CHUNK: Final = 5000

T = TypeVar("T")


class _Slipped(Exception):
    """A key was given up, or taken by somebody else, between two statements."""


def store_one(jobs: JobManager, entry: Entry, hint: Hint | None = None) -> Accepted | Existing:
    """Insert the job, or find or replace the one that has its key; the hint goes behind an insert, where it can.

    Raises IdempotencyConflict.
    """
    with _Migrated(jobs.db):
        return _store_one(jobs, entry, hint)


def _store_one(jobs: JobManager, entry: Entry, hint: Hint | None) -> Accepted | Existing:
    if entry.on_conflict == OnConflict.REPLACE:
        return _store_all(jobs, [entry])[0]
    for _ in range(KEY_TRIES):
        accepted = jobs.enqueue_job(entry.job, hint=hint)
        if accepted is not None:
            return accepted
        # A statement of its own: the insert's snapshot may be older than the commit that it waited for.
        if holders := jobs.find_jobs_by_keys([entry.key]):
            return settle(entry, holders[entry.key])
    raise _vanished(entry)


def store_all(jobs: JobManager, entries: Sequence[Entry]) -> list[Accepted | Existing]:
    """Insert all of the jobs or none; where a key is taken, find or replace the job that has it.

    In one transaction, a part of the caller's if there is one, and else at READ COMMITTED. Raises IdempotencyConflict.
    """
    with _Migrated(jobs.db):
        return _store_all(jobs, entries)


def _store_all(jobs: JobManager, entries: Sequence[Entry]) -> list[Accepted | Existing]:
    for _ in range(KEY_TRIES):
        try:
            # A try from which a key slipped is undone, so that locks are taken in the order of the keys again.
            with joined(jobs.db):
                return _Try(jobs, entries).store()
        except _Slipped:
            continue
    raise _vanished(next(entry for entry in entries if entry.has_key))


class _Migrated(AbstractContextManager[None]):
    """Says beside the server's error what to do where the tables are not there."""

    def __init__(self, alias: str) -> None:
        self._alias = alias

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> None:
        if isinstance(error, ProgrammingError) and isinstance(error.__cause__, UndefinedTable):
            error.add_note(f"Are Conveyor's tables there? Run: manage.py migrate --database {self._alias}")


class _Try:
    """One try: first the free keys are taken, then the others replaced, each in the order of the keys.

    What this transaction holds while it waits for another comes earlier in that order: no circle of waits closes.
    """

    def __init__(self, jobs: JobManager, entries: Sequence[Entry]) -> None:
        self._jobs = jobs
        self._entries = entries
        self._keys = [entry.key if entry.has_key else None for entry in entries]
        self._accepted: dict[int, Accepted] = {}
        self._holders: dict[Key, Holder] = {}

    def store(self) -> list[Accepted | Existing]:
        """Return the answer to each entry. Raises IdempotencyConflict, and _Slipped."""
        chosen = self._chosen()
        self._insert([place for place, key in enumerate(self._keys) if key is None or chosen[key] == place])
        if len(self._accepted) < len(self._entries):
            self._settle(chosen)
        return [self._accepted.get(place) or self._settled(entry) for place, entry in enumerate(self._entries)]

    def _settle(self, chosen: dict[Key, int]) -> None:
        """Find out who has the keys of the entries that were not stored, and replace whom they may replace."""
        taken = [place for place in chosen.values() if place not in self._accepted]
        self._find(taken)
        self._replace([place for place in taken if self._entries[place].on_conflict == OnConflict.REPLACE])
        for key, place in chosen.items():
            if new := self._accepted.get(place):
                self._holders[key] = _as_holder(new, self._entries[place])

    def _settled(self, entry: Entry) -> Existing:
        return settle(entry, self._holders[entry.key])

    def _chosen(self) -> dict[Key, int]:
        """Return which entry is to have each key: the first that names it, or the last that replaces."""
        chosen: dict[Key, int] = {}
        for place, key in enumerate(self._keys):
            if key is not None and (key not in chosen or self._entries[place].on_conflict == OnConflict.REPLACE):
                chosen[key] = place
        return chosen

    def _insert(self, places: Sequence[int]) -> None:
        """Insert the entries whose key is free."""
        if len(places) <= CHUNK:
            if places:
                self._insert_chunk(places, None)
            return
        # Sorted by key, they would not run in the order given.
        seqs = dict(zip(places, self._jobs.draw_ready_seqs(len(places)), strict=True))
        for chunk in _chunks(sorted(places, key=lambda place: (self._entries[place].key, place))):
            self._insert_chunk(chunk, [seqs[place] for place in chunk])

    def _insert_chunk(self, places: Sequence[int], seqs: Sequence[int] | None) -> None:
        found = self._jobs.enqueue_jobs([self._entries[place].job for place in places], ready_seqs=seqs)
        self._accepted.update((place, new) for place, new in zip(places, found, strict=True) if new is not None)

    def _find(self, places: Sequence[int]) -> None:
        """Read who has the keys of these entries."""
        for chunk in _chunks([self._entries[place].key for place in places]):
            found = self._jobs.find_jobs_by_keys(chunk)
            if len(found) < len(chunk):
                raise _Slipped
            self._holders |= found

    def _replace(self, places: Sequence[int]) -> None:
        """Put these entries in the place of the jobs that have their keys."""
        for place in sorted(places):
            check_replaceable(self._entries[place], self._holders[self._entries[place].key])
        for entry in sorted((self._entries[place] for place in places), key=lambda entry: entry.key):
            self._free(entry)
        self._insert(places)
        if any(place not in self._accepted for place in places):
            raise _Slipped

    def _free(self, entry: Entry) -> None:
        """Take the entry's key from the job that has it, whoever else is replacing that one."""
        holder: Holder | None = self._holders[entry.key]
        for _ in range(REPLACE_TRIES):
            if holder is None:
                break
            check_replaceable(entry, holder)
            if self._jobs.replace_job(holder.id, idempotency_key=entry.key[1]):
                return
            holder = self._jobs.find_jobs_by_keys([entry.key]).get(entry.key)
        raise _Slipped


def _as_holder(accepted: Accepted, entry: Entry) -> Holder:
    job = entry.job
    return Holder(accepted.id, job.task, job.args, job.kwargs, accepted.state, None)


def _chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def _vanished(entry: Entry) -> ConveyorError:
    queue, key = entry.key
    return ConveyorError(
        f"{entry.job.task} was not enqueued: the job that held the key {key!r} of queue {queue!r} vanished "
        f"{KEY_TRIES} times before it could be read. Enqueue again."
    )
