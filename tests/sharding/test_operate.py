"""conveyor_explain and conveyor_doctor of a queue's own server, and of what only a server of a test's own can have."""

from __future__ import annotations

import json
from collections.abc import Iterator

import psycopg
import pytest
from django.core.management import call_command

from conveyor_django.operate.doctor import server, snapshots
from conveyor_django.operate.explain import explain
from conveyor_django.operate.findings import Finding, examine, wrong_now

from ..support.produce import anything
from ..support.server import Server

sharded = anything.using(queue_name="orders")


def found(alias: str, code: str) -> list[Finding]:
    return [finding for finding in examine(alias) if finding.code == code]


def test_a_job_is_explained_on_its_server(shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = sharded.enqueue(1)
    job_id = int(result.id.rpartition(":")[2])
    assert explain(result.id).headline.startswith(f"job other:{job_id} ")
    assert explain(job_id).reasons[0].remedy.endswith(f"name that: other:{job_id}.")
    for arguments in ([result.id], [str(job_id), "--database", "other"]):
        call_command("conveyor_explain", *arguments, "--json")
        reason = json.loads(capsys.readouterr().out)["reasons"][0]
        assert reason["code"] == "no_worker"
        assert reason["remedy"] == "Start one: manage.py conveyor_worker --queues orders --database other"


def test_each_server_has_its_own_findings(shard: str, capsys: pytest.CaptureFixture[str]) -> None:
    sharded.enqueue(1)
    assert [finding.level.value for finding in wrong_now(shard) if finding.code == "no_worker"] == ["problem"]
    assert [finding.level.value for finding in wrong_now("default") if finding.code == "no_worker"] == ["warning"]
    with pytest.raises(SystemExit):
        call_command("conveyor_doctor")
    said = capsys.readouterr().out
    assert "default: warning  [no_worker]" in said
    assert "other: problem  [no_worker]" in said


def test_autovacuum_is_off(shard: str, second_server: Server) -> None:
    assert found(shard, "autovacuum_off") == []
    second_server.execute("ALTER SYSTEM SET autovacuum = off")
    second_server.execute("SELECT pg_reload_conf()")
    [finding] = found(shard, "autovacuum_off")
    for statement in finding.remedy.split("; "):
        second_server.execute(statement)
    assert found(shard, "autovacuum_off") == []


@pytest.fixture
def slot(second_server: Server) -> Iterator[str]:
    """A replication slot that keeps WAL, and that nobody reads."""
    second_server.execute("SELECT pg_create_physical_replication_slot('lost', true)")
    yield "lost"
    second_server.execute("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots")


def test_a_slot_keeps_wal(shard: str, slot: str, second_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found(shard, "wal_kept") == []
    monkeypatch.setattr(server, "WAL_KEPT", -1)
    [finding] = found(shard, "wal_kept")
    assert "'lost'" in finding.problem
    second_server.execute(finding.remedy.rpartition(": ")[2])
    assert found(shard, "wal_kept") == []


@pytest.fixture
def prepared(second_server: Server) -> str:
    """A transaction that nobody ends: its application has forgotten it."""
    second_server.configure(max_prepared_transactions="2")
    with psycopg.connect(second_server.url, autocommit=True) as session:
        session.execute("BEGIN")
        session.execute("INSERT INTO test_effect VALUES ('x')")
        session.execute("PREPARE TRANSACTION 'it''s lost'")
    return "it's lost"


def test_a_prepared_transaction_is_left(
    prepared: str, shard: str, second_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(shard, "prepared_transaction") == []
    monkeypatch.setattr(snapshots, "LONG", 0.0)
    [finding] = found(shard, "prepared_transaction")
    assert "it's lost" in finding.problem
    second_server.execute(finding.remedy.rpartition(": ")[2])
    assert found(shard, "prepared_transaction") == []
