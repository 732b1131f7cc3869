"""The API against its own OpenAPI document, by schemathesis: with what it allows, and with what it does not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema_rs import validator_for
from schemathesis import Case
from schemathesis.checks import CHECKS
from schemathesis.generation import GenerationMode

from conveyor_django.api.inputs import EXAMPLE

from .client import NOTE, ROOT, Api, answer, pointers, problem

pytestmark = pytest.mark.django_db

OPERATIONS = [
    "cancelJob", "enqueueJob", "enqueueJobs", "explainJob", "getJob", "listJobs", "listQueues", "live", "pauseQueue",
    "ready", "resumeQueue", "retryJob",
]  # fmt: skip
# Of what takes nothing that could be wrong there are no wrong requests.
WITHOUT_PARAMETERS = {"live", "ready"}
CASES = [
    (name, mode) for name in OPERATIONS for mode in GenerationMode
    if mode is GenerationMode.POSITIVE or name not in WITHOUT_PARAMETERS
]  # fmt: skip
# Its rule that what fits the document is not refused: random jobs are not there, and random tasks were not offered.
UNFIT = ["positive_data_acceptance"]
QUICK, LONG = 5, 50


@pytest.fixture
def kept_connection(db: None) -> Iterator[None]:
    """Let requests leave the connection of the test open, as Django's own test client does."""
    signals = (request_started, request_finished)
    for signal in signals:
        signal.disconnect(close_old_connections)
    yield
    for signal in signals:
        signal.connect(close_old_connections)


@pytest.fixture
def schema(api: Api, kept_connection: None) -> Any:
    return schemathesis.openapi.from_wsgi(
        f"{ROOT}/openapi.json", get_wsgi_application(), headers={"Authorization": f"Bearer {api.token}"}
    )


def operations(schema: Any) -> dict[str, Any]:
    found = (result.ok() for result in schema.get_all_operations())
    return {operation.definition.raw["operationId"]: operation for operation in found}


def run(schema: Any, api: Api, name: str, mode: GenerationMode, examples: int) -> None:
    """Send random requests of one operation, the same at each run; fail where an answer is not as the document says."""
    excluded = CHECKS.get_by_names(UNFIT)
    sent = []

    @settings(
        max_examples=examples, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],
    )  # fmt: skip
    @given(case=operations(schema)[name].as_strategy(generation_mode=mode))
    def send(case: Case) -> None:
        answered = case.call_and_validate(headers={"Authorization": f"Bearer {api.token}"}, excluded_checks=excluded)
        sent.append(answered.status_code)

    send()
    assert sent


def test_every_operation_is_looked_at(schema: Any) -> None:
    assert sorted(operations(schema)) == OPERATIONS


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_answers_are_as_the_document_says(schema: Any, api: Api, name: str, mode: GenerationMode) -> None:
    run(schema, api, name, mode, QUICK)


@pytest.mark.long
@pytest.mark.parametrize(("name", "mode"), CASES)
def test_many_answers_are_as_the_document_says(schema: Any, api: Api, name: str, mode: GenerationMode) -> None:
    run(schema, api, name, mode, LONG)


def test_it_says_how_each_call_may_be_refused(api: Api) -> None:
    paths = answer(api.get("/openapi.json"))["paths"].values()
    calls = {call["operationId"]: (method, call) for path in paths for method, call in path.items()}
    for name, (method, call) in calls.items():
        said = {int(status) for status in call["responses"]}
        caller, body = {401, 403, 429}, {400, 413, 415}
        assert {500, 503} <= said, name
        assert said & caller == (set() if name in {"live", "ready"} else caller), name
        assert said & body == (body if method == "post" else {400} if name == "listJobs" else set()), name
    conflicts = {name for name, (_, call) in calls.items() if "409" in call["responses"]}
    assert conflicts == {"enqueueJob", "enqueueJobs", "cancelJob", "retryJob"}


@pytest.mark.parametrize("body", ["NewJob", "Batch"])
def test_the_examples_are_as_the_document_says_and_only_their_task_is_not_there(api: Api, body: str) -> None:
    document = answer(api.get("/openapi.json"))
    path = {"NewJob": "/jobs", "Batch": "/batch"}[body]
    examples = document["components"]["schemas"][body]["examples"]
    assert examples
    for example in examples:
        text = json.dumps(example)
        assert pointers(problem(api.send(path, text.encode()), 422))[0].endswith("/task")
        fitting = text.replace(EXAMPLE, NOTE)
        answer(api.send(path, fitting.encode()), 201)


def test_the_examples_of_answers_fit_their_models(api: Api) -> None:
    document = answer(api.get("/openapi.json"))
    models = document["components"]["schemas"]
    shown = {name: model["examples"] for name, model in models.items() if "examples" in model}
    assert {"NewJob", "Batch", "Job", "Enqueued", "Queue", "QueueSettings", "ProblemDetails"} <= set(shown)
    for name, examples in shown.items():
        validator = validator_for({"$ref": f"#/components/schemas/{name}", "components": document["components"]})
        for example in examples:
            assert validator.is_valid(example), name


def test_the_document_is_where_the_api_is(api: Api) -> None:
    document = answer(api.get("/openapi.json"))
    assert f"{ROOT}/jobs/{{job_id}}" in document["paths"]
    assert document["openapi"].startswith("3.1")
