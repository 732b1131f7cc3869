"""What a child counts by queue and task, in memory that it shares with its supervisor; only where metrics are served.

As the board it outlives the child, so that nothing that was counted is taken back when a process dies.
"""

from __future__ import annotations

import mmap
import threading
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from typing import IO, Final

from ..outcomes import Answer, Claimed
from ..registry import is_known
from ..states import Verb
from .board import unnamed_file
from .runs import Finished

# Upper bounds of the histograms' buckets, in seconds; the last bucket has none.
BOUNDS: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
# The ends of a run, in the order of their words.
VERBS: Final = (Verb.SUCCEED, Verb.RETRY, Verb.SNOOZE, Verb.FAIL, Verb.CANCEL, Verb.RELEASE)
# What no task of this process is called: the task of a job whose code is not here, and all beyond the last place.
UNKNOWN: Final = "(unknown)"
OTHER: Final = "(other)"
# The labels of a queue and of a task without a place.
_OTHERS: Final = ((OTHER, ""), (OTHER, OTHER))
# Places for labels: what is counted is bounded, whatever queues and tasks are called.
PLACES: Final = 256

_WORD: Final = 8
# Words for the text of a place's label; a longer one is counted as OTHER.
_LABEL: Final = 96
_BUCKETS: Final = len(BOUNDS) + 1
_CLAIMED, _ENQUEUED, _OUTCOMES = 0, 1, 2
_OUTCOME_OF: Final = {verb: _OUTCOMES + place for place, verb in enumerate(VERBS)}
_RUN: Final = _OUTCOMES + len(VERBS)
_WAIT: Final = _RUN + 1 + _BUCKETS
NUMBERS: Final = _WAIT + 1 + _BUCKETS
# The first word of a place is the length of its label's text, 0 where it is free.
_PLACE: Final = 1 + _LABEL + NUMBERS
_NANO: Final = 1e9

# (queue, task); the task is "" where a queue's own numbers stand, of which no task is known.
Label = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Durations:
    """A histogram: how many took at most each of BOUNDS and then all, and the sum, in seconds."""

    cumulated: list[int]
    seconds: float


class Figures:
    """The numbers of one label, as they stood when they were read; those of several processes can be added up."""

    def __init__(self, numbers: list[int] | None = None) -> None:
        self._numbers = numbers or [0] * NUMBERS

    def __add__(self, other: Figures) -> Figures:
        return Figures([a + b for a, b in zip(self._numbers, other._numbers, strict=True)])

    @property
    def claimed(self) -> int:
        """Jobs claimed."""
        return self._numbers[_CLAIMED]

    @property
    def enqueued(self) -> int:
        """Jobs that handlers have stored."""
        return self._numbers[_ENQUEUED]

    def ended(self, verb: Verb) -> int:
        """Return how many outcomes with this verb the database has taken."""
        return self._numbers[_OUTCOME_OF[verb]]

    @property
    def runs(self) -> Durations:
        """How long handlers ran."""
        return self._durations(_RUN)

    @property
    def waits(self) -> Durations:
        """How long jobs that were due waited for their first claim."""
        return self._durations(_WAIT)

    def _durations(self, at: int) -> Durations:
        buckets = self._numbers[at + 1 : at + 1 + _BUCKETS]
        return Durations(list(accumulate(buckets)), self._numbers[at] / _NANO)


class Tally:
    """Numbers by label, written by the threads of a child and read by its supervisor.

    A place's label is whole before its length says that it is there; a number is one word, which only grows.
    """

    def __init__(self, fd: int) -> None:
        self._map = mmap.mmap(fd, self.size())
        self._words = memoryview(self._map).cast("q")
        self._bytes = memoryview(self._map)
        self._places: dict[Label, int] = {}
        self._lock = threading.Lock()

    @staticmethod
    def size() -> int:
        """Return the bytes that a tally takes; those of free places are never touched."""
        return _WORD * _PLACE * PLACES

    @classmethod
    def create(cls) -> tuple[Tally, IO[bytes]]:
        """Return a new tally and its unnamed file; a child inherits the file's descriptor."""
        file = unnamed_file("conveyor-tally")
        file.truncate(cls.size())
        return cls(file.fileno()), file

    # -- the child ------------------------------------------------------------------------------------------

    def claimed(self, jobs: list[Claimed]) -> None:
        """Count claims, by queue; and how long each job waited, where that is known.

        Of a later run, and of a job that waited for others, `run_at` does not say since when it could run.
        """
        with self._lock:
            for job in jobs:
                at = self._at((job.queue, ""))
                self._words[at + _CLAIMED] += 1
                if job.version == 1 and job.workflow_id is None:
                    self._measure(at + _WAIT, job.waited_seconds)

    def answered(self, finished: Finished, answer: Answer) -> None:
        """Count an outcome that the database took, by queue and task; of one that it refused, the run's time alone."""
        claimed, run = finished.held.claimed, finished.run
        task = claimed.task if run is not None or is_known(claimed.task) else UNKNOWN
        with self._lock:
            at = self._at((claimed.queue, task))
            if answer is not Answer.LOST:
                self._words[at + _OUTCOME_OF[finished.outcome.verb]] += 1
            if run is not None and run.seconds is not None:
                self._measure(at + _RUN, run.seconds)

    def enqueued(self, queue: str, task: str, jobs: int) -> None:
        """Count jobs that a handler has stored."""
        with self._lock:
            self._words[self._at((queue, task)) + _ENQUEUED] += jobs

    def _measure(self, at: int, seconds: float) -> None:
        self._words[at] += max(0, int(seconds * _NANO))
        self._words[at + 1 + bisect_left(BOUNDS, seconds)] += 1

    def _at(self, label: Label) -> int:
        """Return where the numbers of a label stand."""
        at = self._places.get(label)
        return self._take_place(label) if at is None else at

    def _take_place(self, label: Label) -> int:
        text = "\0".join(label).encode()
        # The last places are kept for all that have none.
        is_full = len(self._places) >= PLACES - len(_OTHERS) and label not in _OTHERS
        if is_full or len(text) > _WORD * _LABEL:
            return self._at(_OTHERS[bool(label[1])])
        start = _PLACE * len(self._places)
        self._bytes[_WORD * (start + 1) : _WORD * (start + 1) + len(text)] = text
        self._words[start] = len(text)
        self._places[label] = start + 1 + _LABEL
        return self._places[label]

    # -- the supervisor -------------------------------------------------------------------------------------

    def figures(self) -> dict[Label, Figures]:
        """Return the numbers of each label so far."""
        found: dict[Label, Figures] = {}
        for start in range(0, _PLACE * PLACES, _PLACE):
            length = self._words[start]
            if not length:
                break
            text = bytes(self._bytes[_WORD * (start + 1) : _WORD * (start + 1) + length]).decode()
            queue, _, task = text.partition("\0")
            found[queue, task] = Figures(list(self._words[start + 1 + _LABEL : start + _PLACE]))
        return found
