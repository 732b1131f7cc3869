"""Plans of the statements, as PostgreSQL explains them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from conveyor_django.db import Connection
from conveyor_django.sql import numbered


@dataclass(frozen=True)
class Plan:
    """One plan tree; `root` is EXPLAIN's JSON."""

    root: dict[str, Any]

    def nodes(self) -> Iterator[dict[str, Any]]:
        """Yield every node of the tree."""
        pending = [self.root]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(node.get("Plans", ()))

    def indexes_of(self, table: str) -> set[str]:
        """Return the indexes by which `table` is read; Conveyor's are named after their table."""
        named = {node["Index Name"] for node in self.nodes() if "Index Name" in node}
        return {name for name in named if name.startswith(f"{table}_")}

    def walked_indexes(self) -> set[str]:
        """Return the indexes that are read without a range."""
        return {node["Index Name"] for node in self.nodes() if "Index Name" in node and "Index Cond" not in node}

    def seq_scans(self) -> set[str]:
        """Return the tables that are read from end to end."""
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    def sorted_tables(self) -> set[str]:
        """Return the tables whose rows some node sorts, as far as neither a CTE nor a LIMIT stands between."""
        return {
            table
            for node in self.nodes()
            if node["Node Type"] in ("Sort", "Incremental Sort")
            for table in _tables_below(node)
        }

    @property
    def buffers(self) -> int:
        """Pages touched by the whole statement; only after an `analyze`."""
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    def __str__(self) -> str:
        return json.dumps(self.root, indent=1)


def _tables_below(node: dict[str, Any]) -> Iterator[str]:
    for child in node.get("Plans", ()):
        if child["Parent Relationship"] not in ("InitPlan", "SubPlan") and child["Node Type"] != "Limit":
            if "Relation Name" in child:
                yield child["Relation Name"]
            yield from _tables_below(child)


def explain_prepared(connection: Connection, text: str, params: dict[str, Any], *, analyze: bool = False) -> Plan:
    """Prepare the statement on `connection` as a worker would, and explain that; an analysed run is rolled back."""
    prepare(connection, "explained", text)
    try:
        return explain_again(connection, "explained", text, params, analyze=analyze)
    finally:
        connection.execute("DEALLOCATE ALL")


def prepare(connection: Connection, name: str, text: str) -> None:
    """Prepare the statement under a name in SQL; psycopg forgets it at the next rollback if it prepares itself."""
    connection.execute(f"PREPARE {name} AS {numbered(text).text}".encode(), prepare=False)


def explain_again(
    connection: Connection, name: str, text: str, params: dict[str, Any], *, analyze: bool = False
) -> Plan:
    """Explain what the prepared statement `name` does: by its old plan, if it has one."""
    names = numbered(text).parameters
    values = f"({', '.join(['%s'] * len(names))})" if names else ""
    return _explain(connection, f"EXECUTE {name}{values}", [params[given] for given in names], analyze)


def explain_bound(connection: Connection, text: str, params: dict[str, Any], *, analyze: bool = False) -> Plan:
    """Explain the statement with its values written into it, as Django sends it."""
    return _explain(connection, text, params, analyze)


def _explain(connection: Connection, text: str, params: Any, analyze: bool) -> Plan:
    options = "ANALYZE, BUFFERS, FORMAT JSON" if analyze else "FORMAT JSON"
    cursor = psycopg.ClientCursor(connection)
    connection.execute("BEGIN")
    try:
        row = cursor.execute(f"EXPLAIN ({options}) {text}", params).fetchone()
    finally:
        connection.execute("ROLLBACK")
    if row is None:
        raise AssertionError(f"EXPLAIN gave nothing for {text}")
    return Plan(row[0][0]["Plan"])
