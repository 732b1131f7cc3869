"""What the admin draws and shows, of any span, any graph and any JSON text."""

from __future__ import annotations

import json
import re
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from conveyor_django.admin.jsonview import MASK, readable
from conveyor_django.admin.layout import NODE_HEIGHT, NODE_WIDTH, lay_out
from conveyor_django.admin.scale import MOST_TICKS, Scale, tick_step

SPANS = st.floats(min_value=1e-6, max_value=1e10)
# Edges from the older to the younger, as the table of dependencies has them.
GRAPHS = st.integers(1, 14).flatmap(
    lambda count: st.tuples(
        st.just(range(1, count + 1)),
        st.sets(st.sampled_from(list(combinations(range(1, count + 1), 2))), max_size=25)
        if count > 1
        else st.just(set()),
    )
)
LEAVES = st.none() | st.booleans() | st.integers() | st.text(alphabet='ab"\\,:[]{}é\n😀 ')
# No key of these letters is a secret.
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='xy"\\:,é'), inner, max_size=4),
    max_leaves=20,
)


def columns(found) -> dict[int, int]:
    """Return where each node of a layout begins."""
    return {node: x for node, (x, _) in found.places.items()}


@given(SPANS)
def test_there_are_a_few_round_marks_for_every_span(span):
    ticks = Scale(span, 0, 900).ticks()
    assert 2 <= len(ticks) <= MOST_TICKS + 1
    assert all(0 <= x <= 900 for x, _ in ticks)
    assert all(before < after for (before, _), (after, _) in pairwise(ticks))
    # Each says another time than its neighbour.
    assert len({label for _, label in ticks}) == len(ticks)


@given(SPANS, SPANS)
def test_the_longer_the_span_the_longer_the_step(one, other):
    shorter, longer = sorted([one, other])
    assert tick_step(shorter) <= tick_step(longer)


@given(GRAPHS)
def test_each_node_stands_right_of_all_that_it_needs(graph):
    nodes, edges = graph
    x = columns(lay_out(nodes, edges))
    assert all(x[needs] + NODE_WIDTH < x[job] for needs, job in edges)


@given(GRAPHS)
def test_no_two_nodes_overlap_and_all_are_within_the_drawing(graph):
    found = lay_out(*graph)
    for (x, y), (other_x, other_y) in combinations(found.places.values(), 2):
        assert abs(x - other_x) >= NODE_WIDTH or abs(y - other_y) >= NODE_HEIGHT
    for x, y in found.places.values():
        assert 0 <= x <= found.width - NODE_WIDTH
        assert 0 <= y <= found.height - NODE_HEIGHT


@given(GRAPHS)
def test_an_edge_begins_and_ends_at_its_nodes(graph):
    found = lay_out(*graph)
    assert found.paths.keys() == graph[1]
    for (needs, job), path in found.paths.items():
        numbers = [int(number) for number in re.findall(r"-?\d+", path)]
        x, y = found.places[needs]
        assert numbers[:2] == [x + NODE_WIDTH, y + NODE_HEIGHT // 2]
        x, y = found.places[job]
        assert numbers[-2:] == [x, y + NODE_HEIGHT // 2]


@given(GRAPHS, st.randoms())
def test_it_is_the_same_whatever_the_order_of_the_rows(graph, random):
    nodes, edges = list(graph[0]), list(graph[1])
    found = lay_out(nodes, edges)
    random.shuffle(nodes)
    random.shuffle(edges)
    assert lay_out(nodes, edges) == found


@given(VALUES)
def test_it_indents_as_json_does(value):
    assert readable(json.dumps(value, ensure_ascii=False)) == json.dumps(value, ensure_ascii=False, indent=2)


@given(VALUES, st.sampled_from(["password", "apiKey", "X-Auth-Token"]))
def test_what_a_secret_key_holds_is_masked_whole(value, key):
    text = json.dumps({"before": [{key: value, "after": "seen"}]})
    assert json.loads(readable(text)) == {"before": [{key: json.loads(MASK), "after": "seen"}]}


@given(VALUES, st.integers(min_value=0))
def test_the_beginning_of_a_text_is_shown_as_far_as_it_goes(value, cut):
    text = json.dumps(value, ensure_ascii=False)
    beginning = text[: cut % (len(text) + 1)]
    shown = readable(beginning, length=len(text))
    whole = json.dumps(value, ensure_ascii=False, indent=2)
    if beginning == text:
        assert shown == whole
    else:
        head, _, tail = shown.rpartition("\n… ")
        # Blanks alone may differ: an empty list is known as such by its end only.
        assert "".join(whole.split()).startswith("".join(head.split()))
        assert tail == f"{len(text) - len(beginning)} characters left out …"
