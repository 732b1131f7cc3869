"""How long properties are looked at: a moment and always alike, or thoroughly (HYPOTHESIS_PROFILE=deep)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Verbosity, settings

# Nothing is kept between runs: what was found once becomes a test. Databases are slow, and waited for.
settings.register_profile(
    "quick", max_examples=40, stateful_step_count=25, derandomize=True, database=None, deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
settings.register_profile(
    "deep", settings.get_profile("quick"), max_examples=2000, stateful_step_count=80, derandomize=False,
    verbosity=Verbosity.normal,
)  # fmt: skip
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
