"""A child process: `python -m conveyor_django.worker CONFIG`, started by a supervisor only."""

from __future__ import annotations

import logging
import os
import sys

import django


def main(text: str) -> None:
    """Run one child and leave with its exit code."""
    django.setup()
    from django.db import connections
    from django.utils.module_loading import autodiscover_modules

    from ..log import configure
    from .child import Child
    from .config import ChildConfig
    from .interrupt import noting_ignored

    config = ChildConfig.from_json(text)
    connections[config.alias].settings_dict["NAME"] = config.database
    configure(config.log_format, config.log_level)
    # Errors in task modules show at start, not at the first job.
    autodiscover_modules("tasks")
    # After the project's own modules, which may have set theirs.
    sys.unraisablehook = noting_ignored(sys.unraisablehook)
    child = Child(config)
    code = child.run()
    if child.is_clean:
        sys.exit(code)
    # A handler that would not stop must not keep the process.
    logging.shutdown()
    os._exit(code)


if __name__ == "__main__":
    main(sys.argv[1])
