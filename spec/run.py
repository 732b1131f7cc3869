"""Check the models: every configuration must hold, and TLC must find what is wrong with every mutant.

    python -m spec.run                     all but those that are run by hand
    python -m spec.run Wakeup              those of one module; names and patterns ('mutants/cron-*') do too
    python -m spec.run --list              what there is

Exit code 1 if anything is not as its configuration says it must be. How to add one: spec/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, Final

from . import tlc
from .configurations import TEMPORAL, Configuration, InvalidConfiguration, choose, read_configurations

FOLDER: Final = Path(__file__).parent / "tla"
RESULTS: Final = Path(__file__).parent.parent / "results" / "tlc.json"
# Lines of TLC's output that are shown where it is not what was expected: a counterexample, as a rule.
SHOWN: Final = 2_000

Checked = tuple[Configuration, tlc.Outcome]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    options = _options(arguments)
    try:
        chosen = choose(read_configurations(options.folder), options.names, by_hand=options.by_hand)
        if options.list:
            _list(chosen)
            return 0
        checked = _check_all(chosen, tlc.find_tools(), jobs=options.jobs, limit=options.limit)
    except (InvalidConfiguration, ValueError, tlc.NoJava) as error:
        print(error, file=sys.stderr)
        return 2
    results = options.results or (RESULTS if not options.names and not options.by_hand else None)
    if results is not None:
        _write(results, checked)
    surprises = [one for one in checked if surprise(*one)]
    _summarise(checked, surprises)
    return 1 if surprises or not checked else 0


def surprise(configuration: Configuration, outcome: tlc.Outcome) -> str | None:
    """Say what of an outcome is not as the configuration says it must be."""
    if outcome.error is not None:
        return outcome.error
    if outcome.found == configuration.expected:
        return None
    if outcome.found is None:
        return f"nothing was found; {_words(configuration.expected)} should be violated"
    if configuration.expected is None:
        return f"{_words(outcome.found)} is violated"
    return f"{_words(outcome.found)} is violated, not {_words(configuration.expected)}"


def verdict(configuration: Configuration, outcome: tlc.Outcome) -> str:
    """Return the outcome in a few words."""
    problem = surprise(configuration, outcome)
    if problem is not None:
        return f"WRONG: {problem}"
    if outcome.found is not None:
        return f"killed by {_words(outcome.found)} in {outcome.trace} states"
    return "holds: redundant" if configuration.redundant else "holds"


def _check_all(chosen: Sequence[Configuration], tools: tlc.Tools, *, jobs: int, limit: float | None) -> list[Checked]:
    """Check configurations and print a line for each: first those that want several threads, one by one."""
    width = max((len(one.name) for one in chosen), default=0)
    print(f"{'configuration':{width}} {'generated':>12} {'distinct':>11} {'depth':>5} {'seconds':>7}  verdict")
    checked = []
    for configuration, outcome in _outcomes(chosen, partial(tlc.run, tools=tools, limit=limit), jobs):
        checked.append((configuration, outcome))
        print(_line(configuration, outcome, width), flush=True)
        if surprise(configuration, outcome):
            print(_told(outcome.output), flush=True)
    order = {one.name: place for place, one in enumerate(chosen)}
    return sorted(checked, key=lambda one: order[one[0].name])


def _outcomes(
    chosen: Sequence[Configuration], check: Callable[[Configuration], tlc.Outcome], jobs: int
) -> Iterator[Checked]:
    for configuration in chosen:
        if configuration.workers > 1:
            yield configuration, check(configuration)
    with ThreadPoolExecutor(jobs) as pool:
        runs = {pool.submit(check, one): one for one in chosen if one.workers == 1}
        try:
            for run in as_completed(runs):
                yield runs[run], run.result()
        finally:
            # Whoever interrupts this does not want the rest.
            pool.shutdown(wait=False, cancel_futures=True)


def _line(configuration: Configuration, outcome: tlc.Outcome, width: int) -> str:
    def number(value: int | None) -> str:
        return "-" if value is None else f"{value:,}"

    return (
        f"{configuration.name:{width}} {number(outcome.generated):>12} {number(outcome.distinct):>11} "
        f"{number(outcome.depth):>5} {outcome.seconds:7.1f}  {verdict(configuration, outcome)}"
    )


def _told(output: str) -> str:
    """Return TLC's output from its first complaint on, indented."""
    lines = output.splitlines()
    first = next((number for number, line in enumerate(lines) if "rror" in line), 0)
    rest = lines[first:]
    shown = rest[:SHOWN] + ([f"… {len(rest) - SHOWN} more lines"] if len(rest) > SHOWN else [])
    return "\n".join(f"    {line}" for line in shown)


def _summarise(checked: Sequence[Checked], surprises: Sequence[Checked]) -> None:
    killed = sum(1 for _, outcome in checked if outcome.found is not None)
    redundant = sum(1 for one, _ in checked if one.redundant)
    states = sum(outcome.distinct or 0 for _, outcome in checked)
    print(
        f"\n{len(checked)} configurations, {states:,} distinct states: {killed} with a counterexample, "
        f"{redundant} of redundant guards; {len(surprises)} not as expected."
    )
    for configuration, outcome in surprises:
        print(f"  {configuration.name}: {surprise(configuration, outcome)}")


def _write(path: Path, checked: Sequence[Checked]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([_record(*one) for one in checked], indent=2, ensure_ascii=False) + "\n", "utf-8")


def _record(configuration: Configuration, outcome: tlc.Outcome) -> dict[str, Any]:
    return {
        "name": configuration.name,
        "module": configuration.module.stem,
        "about": configuration.about,
        "expected": configuration.expected,
        "redundant": configuration.redundant,
        "verdict": verdict(configuration, outcome),
        "as_expected": surprise(configuration, outcome) is None,
        "generated": outcome.generated,
        "distinct": outcome.distinct,
        "depth": outcome.depth,
        "counterexample_states": outcome.trace,
        "seconds": round(outcome.seconds, 1),
        "workers": configuration.workers,
        "digest": configuration.digest,
        "tlc": outcome.version,
    }


def _list(chosen: Sequence[Configuration]) -> None:
    for one in chosen:
        expected = f"violates {_words(one.expected)}" if one.expected else "holds"
        print(f"{one.name}{' (by hand)' if one.by_hand else ''}: {expected}. {one.about}")


def _words(found: str | None) -> str:
    return "a temporal property" if found == TEMPORAL else str(found)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="spec.run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="configurations, patterns or modules; all when left out")
    parser.add_argument("--by-hand", action="store_true", help="also those that take long")
    parser.add_argument("--list", action="store_true", help="list them and what is expected, and run none")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many small ones at a time")
    parser.add_argument("--limit", type=float, help="seconds for each, none unless given; to be stopped is a failure")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the modules are (spec/tla)")
    parser.add_argument(
        "--results", type=Path, help="a file for the figures (results/tlc.json when all that CI runs was run)"
    )
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
