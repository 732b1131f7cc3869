"""Programs and libraries that some faults need."""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Final

# Folders of administrators' programs, which are not on every PATH.
SBIN: Final = "/usr/sbin:/usr/local/sbin:/sbin"


class PackageMissing(Exception):
    """A fault cannot be injected here; the message says what to install."""

    def __init__(self, what: str, fix: str) -> None:
        super().__init__(f"{what} is missing: {fix}. Without it this fault cannot be injected.")


def program(name: str, package: str) -> str:
    """Return the path of a program. Raises PackageMissing that names the package."""
    path = shutil.which(name) or shutil.which(name, path=SBIN)
    if path is None:
        raise PackageMissing(f"the program {name}", f"on Debian and Ubuntu, apt-get install {package}")
    return path


def library(package: str, path: str) -> str:
    """Return the path of a file that a Python package brings. Raises PackageMissing."""
    spec = find_spec(package)
    found = Path(spec.origin).parent / path if spec is not None and spec.origin is not None else None
    if found is None or not found.exists():
        raise PackageMissing(f"{path} of the Python package {package}", f"pip install {package}")
    return str(found)
