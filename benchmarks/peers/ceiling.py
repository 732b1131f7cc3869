"""The ceiling as an entrant: jobs are Conveyor's, what works them off is benchmarks.ceiling."""

from __future__ import annotations

import argparse
from typing import Any

from . import base
from .conveyor import Conveyor


class Ceiling(Conveyor):
    """`processes` bare loops with `batch` jobs in hand each."""

    defaults = {**Conveyor.defaults, "batch": 32}

    def work_off(self, given: argparse.Namespace) -> dict[str, Any]:
        """Work off all jobs that there are."""
        from benchmarks.ceiling import work_off

        return work_off(self.options["processes"], self.options["batch"])

    def exchanges(self, given: argparse.Namespace) -> dict[str, Any]:
        """Claim and succeed `count` times, and put as many jobs in line as were taken each time."""
        from benchmarks.ceiling import exchanges

        batch = self.options["batch"]
        found = []
        for turn, exchange in enumerate(exchanges(batch, given.count)):
            found.append(exchange)
            first = given.first + turn * batch
            self.enqueue_bulk("noop", range(first, first + batch))
        return {"claim": [each.claim for each in found], "success": [each.success for each in found]}


if __name__ == "__main__":
    base.run(Ceiling)
