"""Pages of a table that is too large to count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from django.core.paginator import Paginator
from django.db import connections
from django.utils.functional import cached_property

if TYPE_CHECKING:
    from django.db.models import QuerySet

    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator

# Counted exactly up to here; whoever wants more than a hundred pages wants a filter.
COUNTED: Final = 10_000


class EstimatingPaginator(_Paginator):
    """Counts at most COUNTED rows and one; of a whole large table it tells the planner's estimate."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        """Return the number of rows: exact when small, else the planner's guess or COUNTED + 1."""
        if not self.object_list.query.where:
            estimate = self._estimate()
            if estimate > COUNTED:
                return estimate
        return self.object_list.order_by()[: COUNTED + 1].count()

    def _estimate(self) -> int:
        # Kept by VACUUM and ANALYZE; −1 before the first of them.
        connection = connections[self.object_list.db]
        table = connection.ops.quote_name(self.object_list.model._meta.db_table)  # noqa: SLF001 - public
        with connection.cursor() as cursor:
            cursor.execute("SELECT reltuples::bigint FROM pg_class WHERE oid = to_regclass(%s)", (table,))
            row = cursor.fetchone()
        return int(row[0]) if row else 0
