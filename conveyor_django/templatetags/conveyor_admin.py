"""States, instants and lengths of time as the admin's pages write them."""

from __future__ import annotations

from django import template

from ..admin.render import precise, sign_of, state_badge
from ..admin.scale import duration

register = template.Library()
register.filter("badge", state_badge)
register.filter("duration", duration)
register.filter("precise", precise)
register.filter("sign", sign_of)
