"""A graph in layers, from left to right: each node right of all that it needs, with few crossings.

Layers by the longest path, an order within them by the mean place of the neighbours, bends where an edge passes a layer
(after Sugiyama, Tagawa and Toda, 1981). The same graph always gives the same drawing.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

NODE_WIDTH: Final = 160
NODE_HEIGHT: Final = 48
_COLUMN: Final = NODE_WIDTH + 48
_ROW: Final = NODE_HEIGHT + 16
_MARGIN: Final = 8
# Past so many, edges go straight to their ends: bends cost more than they clear up.
MOST_BENDS: Final = 1_000
_SWEEPS: Final = 6

Edge = tuple[int, int]
# A node, or the place where an edge passes a layer: the edge and the layer.
_Item = int | tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything stands: the upper left corners of the nodes, and the paths of the edges, as SVG has them."""

    width: int
    height: int
    places: Mapping[int, tuple[int, int]]
    paths: Mapping[Edge, str]


def lay_out(nodes: Collection[int], edges: Collection[Edge], *, last: Collection[int] = ()) -> Layout:
    """Place the nodes of a graph without cycles; an edge is (what is needed, what needs it), the younger id last.

    `last` are nodes that stand in a layer of their own, after all others.
    """
    layers_of = _layers_of(nodes, edges, frozenset(last))
    chains = {edge: _chain(edge, layers_of) for edge in sorted(edges)}
    if sum(len(chain) - 2 for chain in chains.values()) > MOST_BENDS:
        chains = {edge: [*edge] for edge in chains}
    layers = _ordered(_filled(layers_of, chains), chains.values())
    tallest = max(map(len, layers), default=0)
    spots = {
        item: (_MARGIN + column * _COLUMN, _MARGIN + row * _ROW + (tallest - len(layer)) * _ROW // 2)
        for column, layer in enumerate(layers)
        for row, item in enumerate(layer)
    }
    return Layout(
        width=max(len(layers) * _COLUMN - (_COLUMN - NODE_WIDTH), 0) + 2 * _MARGIN,
        height=max(tallest * _ROW - (_ROW - NODE_HEIGHT), 0) + 2 * _MARGIN,
        places={node: spots[node] for node in nodes},
        paths={edge: _path([spots[item] for item in chain]) for edge, chain in chains.items()},
    )


def _layers_of(nodes: Collection[int], edges: Collection[Edge], last: frozenset[int]) -> dict[int, int]:
    needed = defaultdict(list)
    for needs, job in edges:
        needed[job].append(needs)
    layers: dict[int, int] = {}
    # The older ones first: what a node needs is older.
    for node in sorted(nodes):
        layers[node] = max((layers[older] + 1 for older in needed[node]), default=0)
    beyond = max((layer + 1 for node, layer in layers.items() if node not in last), default=0)
    return {node: beyond if node in last else layer for node, layer in layers.items()}


def _chain(edge: Edge, layers_of: Mapping[int, int]) -> list[_Item]:
    """Return what an edge passes: its ends, and the layers between them."""
    start, end = edge
    return [start, *((start, end, layer) for layer in range(layers_of[start] + 1, layers_of[end])), end]


def _filled(layers_of: Mapping[int, int], chains: Mapping[Edge, list[_Item]]) -> list[list[_Item]]:
    layers: list[list[_Item]] = [[] for _ in range(max(layers_of.values(), default=-1) + 1)]
    for node in sorted(layers_of):
        layers[layers_of[node]].append(node)
    for chain in chains.values():
        for item in chain:
            if isinstance(item, tuple):
                layers[item[2]].append(item)
    return layers


def _ordered(layers: list[list[_Item]], chains: Collection[Sequence[_Item]]) -> list[list[_Item]]:
    """Return the layers in the order with the fewest crossings that some sweeps find."""
    before: dict[_Item, list[_Item]] = defaultdict(list)
    after: dict[_Item, list[_Item]] = defaultdict(list)
    for chain in chains:
        for left, right in pairwise(chain):
            after[left].append(right)
            before[right].append(left)
    best, fewest = layers, _crossings(layers, after)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        layers = _swept(layers, before) if sweep % 2 == 0 else _swept(layers[::-1], after)[::-1]
        found = _crossings(layers, after)
        if found < fewest:
            best, fewest = layers, found
    return best


def _swept(layers: Sequence[list[_Item]], neighbours: Mapping[_Item, list[_Item]]) -> list[list[_Item]]:
    """Order each layer by the mean place of its items' neighbours in the layers before; who has none stays."""
    places: dict[_Item, float] = {}
    swept = []
    for layer in layers:
        wanted = {item: _mean(place, [places[each] for each in neighbours.get(item, ()) if each in places])
                  for place, item in enumerate(layer)}  # fmt: skip
        ordered = sorted(layer, key=wanted.__getitem__)
        # Around the middle, as they are drawn: layers are of different lengths.
        places.update({item: row - len(ordered) / 2 for row, item in enumerate(ordered)})
        swept.append(ordered)
    return swept


def _mean(place: float, others: Sequence[float]) -> float:
    return sum(others) / len(others) if others else place


def _crossings(layers: Sequence[Sequence[_Item]], after: Mapping[_Item, list[_Item]]) -> int:
    """Count the crossings between each layer and the next: pairs of edges whose ends stand the other way round."""
    rows = {item: row for layer in layers for row, item in enumerate(layer)}
    count = 0
    for layer in layers:
        seen: list[int] = []
        for item in layer:
            ends = sorted(rows[each] for each in after.get(item, ()))
            count += sum(len(seen) - bisect_right(seen, end) for end in ends)
            for end in ends:
                insort(seen, end)
    return count


def _path(spots: Sequence[tuple[int, int]]) -> str:
    """Return a smooth line from the right side of the first spot to the left side of the last, through the others."""
    middle = NODE_HEIGHT // 2
    x, y = spots[0][0] + NODE_WIDTH, spots[0][1] + middle
    parts = [f"M{x} {y}"]
    for place, (left, top) in enumerate(spots[1:], start=2):
        half = (left - x) // 2
        parts.append(f"C{x + half} {y} {left - half} {top + middle} {left} {top + middle}")
        x, y = left, top + middle
        if place < len(spots):
            x += NODE_WIDTH
            parts.append(f"H{x}")
    return "".join(parts)
