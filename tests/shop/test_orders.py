"""The shop's CSV."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from testproject.shop.orders import PATH, Order, make_orders, read_orders, write_orders


def test_the_shipped_file_is_what_the_generator_writes() -> None:
    text = io.StringIO()
    write_orders(make_orders(), text)
    assert PATH.read_text(encoding="utf-8") == text.getvalue()


def test_there_are_500_orders_of_40_customers_and_their_sum_is_known() -> None:
    orders = read_orders()
    assert len({order.order for order in orders}) == len(orders) == 500
    assert len({order.customer for order in orders}) == 40
    assert min(order.cents for order in orders) > 0
    assert sum(order.cents for order in orders) == 6_218_600


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    orders = [Order("a", 'Zoë "Z", Jr.', 1), Order("b", "Bo", 200)]
    path = tmp_path / "orders.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        write_orders(orders, file)
    assert read_orders(path) == orders


@pytest.mark.parametrize("line", ["order-2,Ada,a lot", "order-2,Ada", "order-2"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "orders.csv"
    path.write_text(f"order,customer,cents\norder-1,Ada,5\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"orders\.csv, line 3: .*order-2.* is not an order"):
        read_orders(path)
