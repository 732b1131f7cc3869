"""What spans and their attributes are called.

By OpenTelemetry's semantic conventions for messaging spans, version 1.44.0 (status: development), and `conveyor.…` for
what they have no word for: https://opentelemetry.io/docs/specs/semconv/messaging/messaging-spans/
"""

from __future__ import annotations

import re
from typing import Any, Final

from django.db import connections

SCHEMA_URL: Final = "https://opentelemetry.io/schemas/1.44.0"
SYSTEM: Final = "conveyor"
SEND: Final = "send"
PROCESS: Final = "process"

OPERATION_NAME: Final = "messaging.operation.name"
OPERATION_TYPE: Final = "messaging.operation.type"
DESTINATION: Final = "messaging.destination.name"
MESSAGE_ID: Final = "messaging.message.id"
MESSAGE_COUNT: Final = "messaging.batch.message_count"
CLIENT_ID: Final = "messaging.client.id"
ERROR_TYPE: Final = "error.type"

TASK: Final = "conveyor.task"
DATABASE: Final = "conveyor.database"
WORKFLOW: Final = "conveyor.workflow.id"
# Of an enqueue: the jobs of a batch, at most so many of them, and how many there were before.
JOBS: Final = "conveyor.job.ids"
MAX_JOBS: Final = 100
EXISTING: Final = "conveyor.enqueue.existing"
# Of a run.
ATTEMPT: Final = "conveyor.attempt"
MAX_ATTEMPTS: Final = "conveyor.max_attempts"
LOST_COUNT: Final = "conveyor.lost_count"
FENCING_TOKEN: Final = "conveyor.fencing_token"  # noqa: S105 - a number
OUTCOME: Final = "conveyor.outcome"
ANSWER: Final = "conveyor.answer"
LEASE_LOST: Final = "conveyor.lease_lost"
DELAY: Final = "conveyor.retry.delay_seconds"
# Of a part of a run.
STEP: Final = "conveyor.step"
REMEMBERED: Final = "conveyor.step.remembered"

_DIGITS: Final = re.compile(r"\d+")


def operation(verb: str, queue: str | None, alias: str) -> dict[str, Any]:
    """Return the attributes of a send or a process; `queue` is None where there are several."""
    attributes = {
        "messaging.system": SYSTEM, OPERATION_NAME: verb, OPERATION_TYPE: verb, DATABASE: alias, **_server(alias),
    }  # fmt: skip
    if queue is not None:
        attributes[DESTINATION] = queue
    return attributes


def operation_name(verb: str, queue: str | None) -> str:
    """Return the name of a send's or a process's span."""
    return verb if queue is None else f"{verb} {queue}"


def part_name(kind: str, name: object = None) -> str:
    """Return the name of a part's span: steps that differ by a number have the same, so that there are few names."""
    return f"{kind} {_DIGITS.sub('*', name)}" if isinstance(name, str) else kind


def _server(alias: str) -> dict[str, Any]:
    """Return where the alias's database is, as far as DATABASES says."""
    settings = connections.settings[alias]
    host = settings["HOST"] or settings["OPTIONS"].get("host")
    server: dict[str, Any] = {"server.address": str(host)} if host else {}
    if host and str(settings["PORT"]).isdecimal():
        server["server.port"] = int(settings["PORT"])
    return server
