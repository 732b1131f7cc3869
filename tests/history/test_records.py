"""Records of many processes at once, some of them killed or frozen."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ..support.waits import wait_until
from .records import BrokenHistory, History, Put, Store, read

Start = Callable[..., "subprocess.Popen[str]"]

NOTE_FOR_EVER = """
import itertools, sys, time
from tests.history.records import History
history = History(sys.argv[1])
for number in itertools.count():
    history.note("begin", job=number, token=1, name="é" * 50)
    time.sleep(0.0005)  # a writer's pace, so that the file stays small; nothing waits by it
"""
PUT_GROWING_TOKENS = """
import sys
from tests.history.records import Store
store = Store(sys.argv[1])
print(*[int(store.put(1, token)) for token in range(1, 201)])
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history"


@pytest.fixture
def start(path: Path) -> Iterator[Start]:
    processes: list[subprocess.Popen[str]] = []

    def start(code: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", code, str(path)]
        processes.append(subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def noted_by(path: Path, process: subprocess.Popen[str]) -> int:
    return sum(record["pid"] == process.pid for record in read(path)) if path.exists() else 0


def test_a_record_is_what_was_noted(path: Path) -> None:
    with History(path) as history:
        history.note("offer", name="é\x00\n", key=None)
        history.note("put", job=2**63 - 1, token=1, accepted=False)
    one, two = read(path)
    assert {name: one[name] for name in ("event", "pid", "name", "key")} == {
        "event": "offer", "pid": os.getpid(), "name": "é\x00\n", "key": None,
    }  # fmt: skip
    assert (two["job"], two["accepted"], two["at"] >= one["at"]) == (2**63 - 1, False, True)


def test_a_killed_process_spoils_nothing_and_a_frozen_one_keeps_nobody_waiting(path: Path, start: Start) -> None:
    killed, frozen, lively = (start(NOTE_FOR_EVER) for _ in range(3))
    wait_until(lambda: all(noted_by(path, process) for process in (killed, frozen, lively)), "all have noted")
    frozen.send_signal(signal.SIGSTOP)
    killed.kill()
    killed.wait()
    noted = noted_by(path, lively)
    wait_until(lambda: noted_by(path, lively) > noted, "the lively one has gone on")
    asleep = noted_by(path, frozen)
    frozen.send_signal(signal.SIGCONT)
    wait_until(lambda: noted_by(path, frozen) > asleep, "the frozen one has gone on")
    jobs = defaultdict(list)
    for record in read(path):
        jobs[record["pid"]].append(record["job"])
    assert all(numbers == list(range(len(numbers))) for numbers in jobs.values())


def test_a_line_that_was_cut_is_left_out_at_the_end_and_nowhere_else(path: Path) -> None:
    history = History(path)
    history.note("fault", what="one")
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        assert [record["what"] for record in read(path)] == ["one"]
    history.note("fault", what="two")
    with pytest.raises(BrokenHistory, match="line 2 is no record"):
        read(path)
    history.close()
    history.close()


@pytest.mark.parametrize("line", [b"[]\n", b'{"event": "offer"}\n', b"\n"])
def test_a_line_that_is_no_record(path: Path, line: bytes) -> None:
    path.write_bytes(line)
    with pytest.raises(BrokenHistory, match="line 1 is no record"):
        read(path)


def test_the_history_s_own_fields_cannot_be_given(path: Path) -> None:
    with History(path) as history, pytest.raises(ValueError, match="at, pid"):
        history.note("begin", at=1, pid=2)


def test_a_record_that_does_not_fit_is_an_error(path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with History(path) as history:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
        try:
            with pytest.raises(OSError, match="only 20 of"):
                history.note("fault", what="the disk is full")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_the_store_refuses_a_token_older_than_one_that_it_has(path: Path) -> None:
    store = Store(path)
    # Job 21's token 1 looks like a part of job 1's.
    answers = [store.put(job, token) for job, token in [(1, 1), (1, 3), (1, 2), (1, 3), (21, 1), (1, 1), (2, 1)]]
    assert answers == [True, True, False, True, True, False, True]
    assert store.puts() == [
        Put(1, 1, True), Put(1, 3, True), Put(1, 2, False), Put(1, 3, True), Put(21, 1, True), Put(1, 1, False),
        Put(2, 1, True),
    ]  # fmt: skip


def test_the_store_answers_several_at_once_as_if_one_after_the_other(path: Path, start: Start) -> None:
    processes = [start(PUT_GROWING_TOKENS) for _ in range(3)]
    answers = [list(map(int, process.communicate()[0].split())) for process in processes]
    puts = Store(path).puts()
    # Of one token the three puts stand in the store's order; which is whose, nobody says.
    for token in range(1, 201):
        said = sorted(answer[token - 1] for answer in answers)
        assert said == sorted(int(put.accepted) for put in puts if put.token == token)
    assert len(puts) == 600


def test_the_store_has_no_place_for_what_is_too_wide(path: Path) -> None:
    with pytest.raises(ValueError, match="no place for job 1"):
        Store(path).put(1, 10**11)
    assert not path.exists()


def test_a_line_of_the_store_that_nobody_wrote(path: Path) -> None:
    path.write_bytes(b"1 2\n")
    with pytest.raises(BrokenHistory, match="line 1"):
        Store(path).puts()
