"""How Sphinx builds the documentation: `make docs`."""

from __future__ import annotations

import conveyor_django

project = "Conveyor"
author = "Conveyor contributors"
copyright = author  # noqa: A001 - Sphinx' name for it
version = release = conveyor_django.__version__

extensions = ["myst_parser"]
myst_enable_extensions = ["deflist"]
# Links to headings, as GitHub makes them.
myst_heading_anchors = 4
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = f"Conveyor {release}"
