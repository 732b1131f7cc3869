"""Structured log lines: an event name and fields, the same words as in code and SQL."""

from __future__ import annotations

import datetime as dt
import json
import logging
from typing import Any

ROOT = "conveyor"


def get_logger(part: str) -> logging.Logger:
    """Return the logger of one part of Conveyor, as in ``conveyor.worker``."""
    return logging.getLogger(f"{ROOT}.{part}")


def event(logger: logging.Logger, level: int, name: str, *, exc_info: Any = None, **fields: Any) -> None:
    """Log `name` with `fields`: as ``name key=value …`` in the message and as a dict in ``record.conveyor``."""
    if logger.isEnabledFor(level):
        text = " ".join([name, *(f"{key}={_shown(value)}" for key, value in fields.items())])
        extra = {"conveyor": {"event": name, **fields}}
        logger.log(level, "%s", text, extra=extra, exc_info=exc_info, stacklevel=2)


def _shown(value: Any) -> str:
    text = f"{value:.3f}" if isinstance(value, float) else str(value)
    return json.dumps(text, ensure_ascii=False) if not text or any(c in text for c in ' "=\n') else text


class TextFormatter(logging.Formatter):
    """``time level logger event key=value …``, one line an event and its traceback, if any, below."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time, level, logger, process, the event's name and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON text."""
        fields = getattr(record, "conveyor", None) or {"event": record.getMessage()}
        line = {
            "time": dt.datetime.fromtimestamp(record.created, dt.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            **fields,
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


FORMATTERS = {"text": TextFormatter, "json": JsonFormatter}


def configure(style: str, level: int = logging.INFO) -> None:
    """Send Conveyor's lines to stderr in `style` ("text" or "json"), unless the project's LOGGING has a handler."""
    root = logging.getLogger(ROOT)
    if root.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(FORMATTERS[style]())
    root.addHandler(handler)
    root.setLevel(level)
    root.propagate = False
    driver = logging.getLogger("psycopg")
    if not driver.hasHandlers():
        # What it has to say is about our connections, and would else come as a bare line among JSON ones.
        driver.addHandler(handler)
