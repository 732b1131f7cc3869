"""A command's numbers on a port of its own."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from ..log import event, get_logger
from .client import start_http_server
from .collector import Source, registry_of

logger = get_logger("metrics")


@contextmanager
def served(*sources: Source, address: str, port: int) -> Iterator[int]:
    """Serve the sources over HTTP inside the block, on any path; give the port, which is a free one for 0.

    Raises OSError where the address is not to be had: no such host, not of this machine, the port taken.
    """
    server, thread = start_http_server(port, address, registry_of(*sources))
    event(logger, logging.INFO, "metrics.serving", address=address, port=server.server_port)
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
