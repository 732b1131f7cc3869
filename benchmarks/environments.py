"""A virtual environment for each job queue, with pinned versions; what cannot be installed is said, not left out."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from .catalog import PeerInfo

_LIST = (
    "import importlib.metadata as m, json; "
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions()}))"
)


class NotInstallable(Exception):
    """A job queue could not be installed; the message is the installer's last line."""


@dataclass
class Environments:
    """The environments below `folder`, made with the interpreter `python` when they are asked for."""

    folder: Path
    python: str = sys.executable
    _refused: dict[str, str] = field(default_factory=dict)

    def interpreter(self, peer: PeerInfo) -> Path:
        """Return the interpreter of the queue's environment. Raises NotInstallable, each time for the same reason."""
        name = peer.environment or peer.name
        if name in self._refused:
            raise NotInstallable(self._refused[name])
        folder = self.folder / name
        stamp = folder / "requirements.txt"
        wanted = "\n".join(peer.requirements)
        if not stamp.exists() or (peer.requirements and stamp.read_text("utf-8") != wanted):
            try:
                self._install(folder, peer)
            except subprocess.CalledProcessError as error:
                lines = (error.stderr or error.stdout or "").strip().splitlines() or [str(error)]
                self._refused[name] = lines[-1]
                raise NotInstallable(lines[-1]) from error
            stamp.write_text(wanted, "utf-8")
        return folder / "bin" / "python"

    def versions(self, peer: PeerInfo) -> dict[str, str]:
        """Return {distribution: version} of the queue's environment."""
        interpreter = self.interpreter(peer)
        listed = subprocess.run([interpreter, "-c", _LIST], check=True, capture_output=True, text=True)
        found: dict[str, str] = json.loads(listed.stdout)
        return dict(sorted(found.items()))

    def _install(self, folder: Path, peer: PeerInfo) -> None:
        if not peer.requirements:
            raise ValueError(f"{peer.name} uses the environment of {peer.environment}: install that first")
        print(f"setting up {folder}", flush=True)
        interpreter = folder / "bin" / "python"
        pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in ([self.python, "-m", "venv", "--clear", str(folder)], [*pip, *peer.requirements]):
            subprocess.run(command, check=True, capture_output=True, text=True)
