"""Tables: how large they are, and how many dead rows VACUUM has left in them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from django.apps import apps

from ..answers import Answer
from .moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView(Answer):
    """A table; its rows and dead rows as the server estimates them, its size in bytes."""

    name: str
    rows: int
    dead_rows: int
    table_bytes: int
    index_bytes: int
    vacuumed_at: dt.datetime | None


def tables(moment: Moment) -> tuple[TableView, ...]:
    """Return Conveyor's tables, by name."""
    names = [model._meta.db_table for model in apps.get_app_config("conveyor").get_models()]  # noqa: SLF001 - public
    return tuple(
        TableView(
            name=one.name, rows=one.row_count, dead_rows=one.dead_rows, table_bytes=one.table_bytes,
            index_bytes=one.index_bytes, vacuumed_at=one.vacuumed_at,
        )
        for one in moment.statements().measure_tables(names)
    )  # fmt: skip
