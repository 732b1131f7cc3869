"""Histories that are wrong on purpose: each function spoils a right one, and names the rules that have to find it.

In the rooms of the rules that they are about (tests/history/rules).
"""

from __future__ import annotations

from . import accepted, capped, crons, effects, fencing, order, outcomes, steps
from .marking import WRONG, Spoil

__all__ = ["WRONG", "Spoil", "accepted", "capped", "crons", "effects", "fencing", "order", "outcomes", "steps"]
