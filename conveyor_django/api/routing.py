"""The one router of all calls that need a caller: of two routers with one path, the second would never be asked."""

from __future__ import annotations

from typing import Final

from ninja import Router

router: Final = Router()
