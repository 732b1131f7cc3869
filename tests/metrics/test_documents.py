"""The page, the dashboard and the alert rules name what there is, and all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from conveyor_django.metrics.catalog import METRICS, Home, Kind

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "metrics.md").read_text()
RUNBOOK = (DOCS / "runbook.md").read_text()
BOARD = json.loads((DOCS / "grafana.json").read_text())
RULES = [rule for group in yaml.safe_load((DOCS / "alerts.yml").read_text())["groups"] for rule in group["rules"]]
# Every sample name there can be, with the labels of its samples.
SAMPLES = {
    name + suffix: {*one.label_names, "instance", "job", *({"le"} if suffix == "_bucket" else ())}
    for name, one in METRICS.items()
    for suffix in (("_bucket", "_count", "_sum") if one.kind is Kind.HISTOGRAM else ("",))
}
# Words of PromQL that stand where a label's name could.
NAME = r"[a-zA-Z_][a-zA-Z0-9_]*"


def panels() -> Iterator[dict[str, Any]]:
    yield from (panel for panel in BOARD["panels"] if panel["type"] != "row")


def expressions() -> dict[str, str]:
    """Return every query of the dashboard and of the rules, by where it stands."""
    found = {f"panel {p['title']} {t['refId']}": t["expr"] for p in panels() for t in p["targets"]}
    return found | {f"alert {rule['alert']}": rule["expr"] for rule in RULES}


EXPRESSIONS = expressions()


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_each_query_names_metrics_and_labels_that_there_are(place: str) -> None:
    expression = EXPRESSIONS[place]
    used = re.findall(r"\b(conveyor_[a-z_]+)(?:\{([^}]*)\})?", expression)
    assert used
    assert [name for name, _ in used if name not in SAMPLES] == []
    for name, matchers in used:
        assert set(re.findall(rf"({NAME})\s*(?:=~|!~|!=|=)", re.sub(r'"[^"]*"', '""', matchers))) <= SAMPLES[name]
    shared = set.intersection(*(SAMPLES[name] for name, _ in used))
    grouped = {
        label for names in re.findall(r"\b(?:by|on) \(([^)]*)\)", expression) for label in re.findall(NAME, names)
    }
    assert grouped <= shared


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_counters_are_asked_for_their_growth_and_nothing_else_is(place: str) -> None:
    for name in re.findall(r"(?:rate|increase)\((conveyor_[a-z_]+)", EXPRESSIONS[place]):
        assert name.endswith(("_total", "_bucket", "_sum", "_count"))
    bare = re.sub(r"(?:rate|increase)\(conveyor_[a-z_]+(?:\{[^}]*\})?\[\d+m\]\)", "", EXPRESSIONS[place])
    assert re.findall(r"conveyor_[a-z_]+_(?:total|bucket|sum|count)\b", bare) == []


@pytest.mark.parametrize("place", EXPRESSIONS)
def test_what_every_web_process_tells_alike_is_never_summed(place: str) -> None:
    for name, one in METRICS.items():
        if one.homes == (Home.WEB,):
            around = re.findall(rf"(\w+)(?: by \([^)]*\))? ?\({name}\b", EXPRESSIONS[place])
            assert set(around) <= {"max", "min"}


def test_the_verbs_duties_and_states_that_are_asked_for_exist() -> None:
    from conveyor_django.operate.overview import Depth
    from conveyor_django.scheduler.loop import DUTIES
    from conveyor_django.worker.tally import VERBS

    known = {
        "verb": {verb.value for verb in VERBS},
        "duty": {duty.name.replace(" ", "_") for duty in DUTIES},
        "state": set(Depth.__dataclass_fields__),
    }
    for expression in EXPRESSIONS.values():
        for label, value in re.findall(r'\b(verb|duty|state)=~?"([^"]*)"', expression):
            assert set(value.split("|")) <= known[label]


def test_the_dashboard_shows_every_metric_but_those_shown_otherwise() -> None:
    shown = {
        name for place, text in EXPRESSIONS.items() if place.startswith("panel") for name in SAMPLES if name in text
    }
    families = {re.sub(r"_(bucket|count|sum)$", "", name) for name in shown}
    # How often a scheduler looks is seen by how long ago it did; a table's rows, by the admin.
    assert set(METRICS) - families == {"conveyor_scheduler_looks_total", "conveyor_table_rows"}


def test_the_dashboard_stands_in_order() -> None:
    ids = [panel["id"] for panel in BOARD["panels"]]
    assert len(set(ids)) == len(ids)
    places = [(p["gridPos"]["x"], p["gridPos"]["y"]) for p in BOARD["panels"]]
    assert len(set(places)) == len(places)
    assert all(panel["description"] for panel in panels())
    variables = {variable["name"] for variable in BOARD["templating"]["list"]}
    used = set(re.findall(r"\$\{?([a-z_]+)", json.dumps(BOARD["panels"])))
    assert used <= variables


def test_the_page_has_every_metric_as_the_catalog_has_it() -> None:
    [table] = re.findall(r"<!-- metrics -->(.*?)<!-- end -->", PAGE, flags=re.DOTALL)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    assert rows == [
        [
            f"`{one.name}`", one.kind.value, ", ".join(home.value for home in one.homes),
            ", ".join(f"`{label}`" for label in one.labels), one.help,
        ]
        for one in METRICS.values()
    ]  # fmt: skip


def test_each_name_in_the_prose_is_a_metric() -> None:
    names = set(re.findall(r"conveyor_[a-z_]+", re.sub(r"conveyor_(?:django|worker|scheduler|cron)\b(?!_)", "", PAGE)))
    assert names <= set(METRICS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_is_explained(rule: dict[str, Any]) -> None:
    name = rule["alert"]
    assert rule["labels"]["severity"] in {"page", "ticket"}
    assert f"| [{name}](#{name.lower()}) | {rule['labels']['severity']} | " in PAGE
    [part] = re.findall(rf"^### {name}\n(.*?)(?=^#|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert re.findall(r"^\*\*(\w+)\.\*\* \S", part, flags=re.MULTILINE) == ["Meaning", "Look", "Do"]


def test_the_page_explains_no_alert_that_there_is_not() -> None:
    assert re.findall(r"^### (\w+)$", PAGE, flags=re.MULTILINE) == [rule["alert"] for rule in RULES]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_annotation_uses_labels_that_the_alert_has(rule: dict[str, Any]) -> None:
    kept = re.search(r"\bby \(([^)]*)\)", rule["expr"])
    assert kept
    assert set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"]))) <= set(re.findall(NAME, kept[1]))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_says_a_command_that_can_be_typed(rule: dict[str, Any]) -> None:
    program, name, *arguments = re.sub(r"\{\{.*?\}\}", "x", rule["annotations"]["look"]).split()
    assert program == "manage.py"
    parser = load_command_class("conveyor_django", name).create_parser(program, name)
    parser.parse_args(arguments)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_each_alert_leads_to_the_section_of_the_runbook_that_names_it(rule: dict[str, Any]) -> None:
    sections = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-"): text
        for heading, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", RUNBOOK, flags=re.MULTILINE)
    }
    page, _, place = rule["annotations"]["runbook"].partition("#")
    assert page == "docs/runbook.md"
    assert f"[{rule['alert']}](metrics.md#{rule['alert'].lower()})" in sections[place]


def test_the_examples_run(monkeypatch: pytest.MonkeyPatch) -> None:
    from prometheus_client import REGISTRY

    from conveyor_django import counting
    from conveyor_django.metrics import enqueued

    monkeypatch.setattr(enqueued, "_enqueued", None)
    monkeypatch.setattr(counting, "on_enqueued", None)
    included, consumer = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    given: dict[str, Any] = {}
    exec(included, given)  # noqa: S102 - our own text
    [route] = given["urlpatterns"]
    assert route.resolve("conveyor/metrics/").kwargs == {"token": "a-long-secret"}
    exec(consumer, given)  # noqa: S102 - our own text
    REGISTRY.unregister(enqueued.count_enqueues())
    assert counting.on_enqueued is not None
