"""A graph in layers: right of what it needs, nothing on top of anything, always the same."""

from __future__ import annotations

import re

from conveyor_django.admin import layout
from conveyor_django.admin.layout import NODE_HEIGHT, NODE_WIDTH, lay_out


def columns(found) -> dict[int, int]:
    return {node: x for node, (x, _) in found.places.items()}


def test_a_diamond():
    found = lay_out([1, 2, 3, 4], [(1, 2), (1, 3), (2, 4), (3, 4)])
    x = columns(found)
    assert x[1] < x[2] == x[3] < x[4]
    # Its ends stand in the middle of its two sides.
    y = {node: place[1] for node, place in found.places.items()}
    assert y[2] < y[1] == y[4] < y[3]


def test_an_edge_that_passes_a_layer_passes_beside_its_nodes():
    found = lay_out([1, 2, 3], [(1, 2), (2, 3), (1, 3)])
    x, y = found.places[2]
    # The long one runs level through the layer between.
    level = re.search(r"(\d+)H(\d+)", found.paths[1, 3])
    assert level
    assert int(level[2]) == x + NODE_WIDTH
    assert not y <= int(level[1]) <= y + NODE_HEIGHT
    assert "H" not in found.paths[1, 2]


def test_crossings_are_taken_out():
    # By id, 3 and 4 would stand so that their edges cross.
    found = lay_out([1, 2, 3, 4], [(1, 4), (2, 3)])
    y = {node: place[1] for node, place in found.places.items()}
    assert (y[1] < y[2]) == (y[4] < y[3])


def test_the_last_ones_have_a_layer_of_their_own():
    x = columns(lay_out([1, 2, 3, 4], [(1, 2)], last=[3, 4]))
    assert x[3] == x[4] > x[2]


def test_a_graph_with_too_many_bends_is_drawn_without(monkeypatch):
    monkeypatch.setattr(layout, "MOST_BENDS", 0)
    assert "H" not in lay_out([1, 2, 3], [(1, 2), (2, 3), (1, 3)]).paths[1, 3]


def test_nothing_is_a_drawing_too():
    assert lay_out([], []).places == {}
