"""The project's manage.py: `python -m benchmarks.project COMMAND`."""

from __future__ import annotations

import os

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.project.settings")
execute_from_command_line()
