"""The form of a handler's own record: one number per run."""

from __future__ import annotations

import struct
from typing import Final

RECORD: Final = struct.Struct("<q")
