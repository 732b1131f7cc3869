"""What producers and handlers write on their own side: a history, and a store that is not Conveyor's.

Events and their fields; `job` and `token` are ints, `accepted` is a bool, the rest text:

producer
    offer(name, key), before an enqueue, key None where it has none; accept(name, job), after its commit was
    acknowledged; refuse(name, error), if it raised. What was refused may be there all the same: another try with the
    same key follows. requeue(job), before a failed or cancelled job is made to run again.
handler
    begin(job, token, name), first thing; end(job, token), last thing before it returns; abort(job, token, error), when
    an exception passes out of it. commit(job, token), before an `effect()`: what comes behind it may come long after
    the success. step_begin, step_end(job, token, step), in the function of a durable step. put(job, token, accepted),
    what the store answered.
worker
    ask(job, token, verb), before the database is asked to succeed, end, renew, record or hold; answer(job, token, verb,
    won), what it said, `won` a bool. Where the worker is Conveyor's own nobody records them: handlers do not see them.
faults
    fault(what), healed(what).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

_RESERVED: Final = frozenset({"event", "at", "pid"})
# Of a put's line, its newline too. It divides every page size, so no write reaches over the end of a page, the one
# place where a kill could cut it.
_PUT_WIDTH: Final = 32


class BrokenHistory(Exception):
    """A file of records has a line that nobody can have written whole."""


class History:
    """Appends lines to a file that all processes of a run share, and that no kill and no stop can spoil.

    Every line is one write to a file opened with O_APPEND, so the order of the lines is an order in time over all
    processes (POSIX, write(): "the file offset shall be set to the end of the file prior to each write"). No lock is
    held and nothing is buffered: a killed process has written what it noted, a frozen one keeps nobody waiting.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open `path`, made where it is missing. Raises OSError."""
        self._file = _open_to_append(path)

    def note(self, event: str, **fields: Any) -> None:
        """Append one line; `at` is time.monotonic() just before, in seconds. Raises OSError, ValueError for a field.

        A process that is frozen between its clock and its write notes late: the order of lines counts, not `at`.
        """
        if taken := _RESERVED & fields.keys():
            raise ValueError(f"The history itself writes {', '.join(sorted(taken))}.")
        record = {"event": event, "at": time.monotonic(), "pid": os.getpid()} | fields
        _append(self._file, json.dumps(record).encode() + b"\n")

    def close(self) -> None:
        """Close the file; closing it again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the records of a history, in the order of their lines.

    A last line without its newline was cut by a kill, and is left out. Raises BrokenHistory for any other line that is
    not a record, OSError if there is no such file.
    """
    lines = Path(path).read_bytes().split(b"\n")
    return [_record(number, line) for number, line in enumerate(lines[:-1], 1)]


class Put(NamedTuple):
    """One write to the store, in the store's own order."""

    job: int
    token: int
    accepted: bool


class Store:
    """An external store that keeps the highest token of each job and refuses lower ones.

    A log without locks, since whoever is frozen with a lock would keep all others waiting: a put is the append of
    one line, the place of that line is its place in the store's order, and whether it is accepted follows from the
    lines before it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path

    def put(self, job: int, token: int) -> bool:
        """Write in the name of a run; say whether no newer run of the job has written. Raises OSError."""
        line = b"%19d %11d\n" % (job, token)
        if len(line) != _PUT_WIDTH:
            raise ValueError(f"A store of lines of {_PUT_WIDTH} bytes has no place for job {job}, token {token}.")
        file = _open_to_append(self._path)
        try:
            _append(file, line)
            # Behind an append stands the file's position: at the end of this line, whatever others appended since.
            before = os.pread(file, os.lseek(file, 0, os.SEEK_CUR) - _PUT_WIDTH, 0)
        finally:
            os.close(file)
        return token >= _highest_token(before, line[:20])

    def puts(self) -> list[Put]:
        """Return all puts, in the store's order. Raises BrokenHistory, and OSError if nothing was ever put."""
        puts, highest = [], dict[int, int]()
        for number, line in enumerate(Path(self._path).read_bytes().splitlines(), 1):
            if len(line) != _PUT_WIDTH - 1:
                raise BrokenHistory(f"{self._path}, line {number}: {line!r}")
            job, token = map(int, line.split())
            puts.append(Put(job, token, token >= highest.get(job, 0)))
            highest[job] = max(token, highest.get(job, 0))
        return puts


def _highest_token(lines: bytes, job: bytes) -> int:
    """Return the highest token of the lines that begin with `job`, 0 if there is none."""
    highest, at = 0, lines.find(job)
    while at >= 0:
        if at % _PUT_WIDTH == 0:
            highest = max(highest, int(lines[at + len(job) : at + _PUT_WIDTH]))
        at = lines.find(job, at + 1)
    return highest


def _record(number: int, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError as error:
        raise BrokenHistory(f"line {number} is no record: {line[:200]!r}") from error
    if not isinstance(record, dict) or not record.keys() >= _RESERVED:
        raise BrokenHistory(f"line {number} is no record: {line[:200]!r}")
    return record


def _open_to_append(path: str | os.PathLike[str]) -> int:
    return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _append(file: int, line: bytes) -> None:
    written = os.write(file, line)
    if written != len(line):
        # A second write would not be one with the first: the line is broken, and whoever reads it will say so.
        raise OSError(f"only {written} of {len(line)} bytes of a record could be written")
