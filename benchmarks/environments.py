"""A virtual environment for each job queue, with pinned versions; what cannot be installed is said, not left out."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from .catalog import PEERS, PeerInfo

# Every distribution that comes with what the catalogue names, at the version that was measured.
PINS: Final = Path(__file__).with_name("constraints.txt")
# The newest Python that every queue has wheels for, and where pyenv keeps it, which is not on the PATH by itself.
PYTHON: Final = "python3.13"
PYENV: Final = f"versions/3.13*/bin/{PYTHON}"
# How much of it is kept, in characters.
REASON: Final = 300
# pyenv builds an interpreter without profile-guided optimisation unless it is told to; that is slower.
_LIST: Final = (
    "import importlib.metadata as m, json, platform, sysconfig; "
    "build = '' if '--enable-optimizations' in (sysconfig.get_config_var('CONFIG_ARGS') or '') else ' (plain build)'; "
    "print(json.dumps({'python': platform.python_version() + build} | {d.metadata['Name']: d.version "
    "for d in m.distributions()}))"
)
_VERSION: Final = "import sys; print(sys.version)"


class NotInstallable(Exception):
    """A job queue could not be installed; the message is the end of what the installer said."""


def default_python() -> str:
    """Return the interpreter that the environments are made with: PYTHON where there is one that runs, or this one."""
    found = [path] if (path := shutil.which(PYTHON)) else []
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found += sorted(map(str, root.glob(PYENV)), reverse=True)
    return next((each for each in found if _runs(each)), sys.executable)


def _runs(python: str) -> bool:
    """Say whether an interpreter runs: a shim of pyenv does not, where no version is chosen."""
    return subprocess.run([python, "-c", _VERSION], check=False, capture_output=True).returncode == 0


@dataclass
class Environments:
    """The environments below `folder`, made with the interpreter `python` when they are asked for."""

    folder: Path
    python: str = field(default_factory=default_python)
    _refused: dict[str, str] = field(default_factory=dict)

    def interpreter(self, peer: PeerInfo) -> Path:
        """Return the interpreter of the queue's environment. Raises NotInstallable, each time for the same reason."""
        owner = PEERS[peer.environment or peer.name]
        if owner.name in self._refused:
            raise NotInstallable(self._refused[owner.name])
        folder = self.folder / owner.name
        try:
            self._make(folder, owner.requirements)
        except subprocess.CalledProcessError as error:
            said = " ".join((error.stderr or error.stdout or str(error)).split())[-REASON:]
            self._refused[owner.name] = said
            raise NotInstallable(said) from error
        return folder / "bin" / "python"

    def versions(self, peer: PeerInfo) -> dict[str, str]:
        """Return {distribution: version} of the queue's environment, and of its "python"."""
        return dict(sorted(json.loads(_said([str(self.interpreter(peer)), "-c", _LIST])).items()))

    def _make(self, folder: Path, requirements: tuple[str, ...]) -> None:
        """Make the environment, unless it is there as it would be made now. Raises CalledProcessError."""
        stamp = folder / "made-of.txt"
        wanted = "\n".join([_said([self.python, "-c", _VERSION]), *requirements, PINS.read_text("utf-8")])
        if stamp.exists() and stamp.read_text("utf-8") == wanted:
            return
        print(f"setting up {folder}", flush=True)
        _said([self.python, "-m", "venv", "--clear", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _said([*pip, "--constraint", str(PINS), *requirements])
        stamp.write_text(wanted, "utf-8")


def _said(command: list[str]) -> str:
    """Run a command; return what it printed. Raises CalledProcessError, which has what it complained of."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
