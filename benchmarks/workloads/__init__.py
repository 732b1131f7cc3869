"""The workloads: what is measured, and with whom. Each module has one or a few that are alike."""

from __future__ import annotations

from importlib import import_module
from typing import Final

from .base import Workload

_MODULES: Final = ("noop", "latency", "effects", "enqueuing", "backlog", "snapshot", "steady", "spread")


def workloads() -> dict[str, Workload]:
    """Return all workloads by name."""
    found = (each for module in _MODULES for each in import_module(f"{__name__}.{module}").WORKLOADS)
    return {workload.name: workload for workload in found}
