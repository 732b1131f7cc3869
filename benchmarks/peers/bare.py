"""The reference for enqueues: a row with the same payload, inserted by psycopg in a bare loop."""

from __future__ import annotations

import json
import time

import psycopg

from . import base

SCHEMA = """
CREATE TABLE bare (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
)
"""
INSERT = "INSERT INTO bare (queue, payload) VALUES (%s, %s)"


class Bare(base.Peer):
    """No queue at all."""

    def setup(self) -> None:
        """Make the table."""
        with psycopg.connect(base.database(), autocommit=True) as connection:
            connection.execute(SCHEMA)

    def enqueue_bulk(self, kind: str, numbers: range) -> float:
        """By COPY."""
        with psycopg.connect(base.database(), autocommit=True) as connection:
            begin = time.perf_counter()
            for chunk in self.chunks(numbers):
                with connection.cursor() as cursor, cursor.copy("COPY bare (queue, payload) FROM STDIN") as copy:
                    for n in chunk:
                        copy.write_row(("default", self._payload(n)))
            return time.perf_counter() - begin

    def enqueue_singly(self, numbers: range) -> float:
        """By INSERT, each with its commit."""
        with psycopg.connect(base.database(), autocommit=True) as connection:
            begin = time.perf_counter()
            for n in numbers:
                connection.execute(INSERT, ("default", self._payload(n)))
            return time.perf_counter() - begin

    def enqueue_paced(self, numbers: range, rate: float) -> None:
        """Nobody asks for it."""
        raise NotImplementedError

    def work(self, concurrency: int) -> None:
        """Nobody asks for it."""
        raise NotImplementedError

    def _payload(self, sequence: int) -> str:
        return json.dumps([sequence, 0.0, self.pad])


if __name__ == "__main__":
    base.run(Bare)
