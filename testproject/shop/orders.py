"""The shop's orders: `orders.csv`, how it is read, and how it was made.

`python -m testproject.shop.orders > testproject/shop/orders.csv` writes the same file again.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final, TextIO

PATH: Final = Path(__file__).with_name("orders.csv")
COUNT: Final = 500
CUSTOMERS: Final = """
    Ada Agnes Amir Anton Bao Björn Carla Chidi Dana Diego Elif Emeka Esra Farid Freja Gita Hana Hugo Ines Ivan
    Jamal Joana Kenji Lars Leila Mateo Mei Milan Nadia Noor Oskar Paula Priya Rafael Sana Tomas Uma Viktor
    Yara Zoe
""".split()  # noqa: SIM905 - forty quoted names would not be read


@dataclass(frozen=True, slots=True)
class Order:
    """One line of the file."""

    order: str
    customer: str
    cents: int


def read_orders(path: Path = PATH) -> list[Order]:
    """Return the orders of a CSV file with a header line.

    Raises ValueError naming the line if it is not an order.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return [_order(path, line, row) for line, row in enumerate(csv.DictReader(file), start=2)]


def _order(path: Path, line: int, row: dict[str, str]) -> Order:
    try:
        return Order(row["order"], row["customer"], int(row["cents"]))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path.name}, line {line}: {row!r} is not an order; give order, customer and cents."
        ) from error


def make_orders() -> Iterator[Order]:
    """Yield the orders of the file that ships: every customer, prices from 1.99 to 249.98."""
    for n in range(1, COUNT + 1):
        yield Order(f"order-{n:04}", CUSTOMERS[n * 17 % len(CUSTOMERS)], 199 + (n * n * 37 + n * 7919) % 24_800)


def write_orders(orders: Iterable[Order], file: TextIO) -> None:
    """Write orders as CSV with a header line."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(field.name for field in fields(Order))
    writer.writerows(astuple(order) for order in orders)


if __name__ == "__main__":
    write_orders(make_orders(), sys.stdout)
