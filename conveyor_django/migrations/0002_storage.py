"""What Django's migrations have no words for: a sequence, the ledger's trigger, storage parameters."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations

READY_SEQUENCE = "CREATE SEQUENCE conveyor_ready_seq AS bigint CACHE 1"

# Append-only, so that no code path can take back or rewrite an effect. `prune_jobs` sets conveyor.pruning for its
# own transaction. TRUNCATE stays allowed: Django's TransactionTestCase needs it.
LEDGER_FUNCTION = """
CREATE FUNCTION conveyor_ledger_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF TG_OP = 'DELETE' AND current_setting('conveyor.pruning', true) = 'on' THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'conveyor_ledger is append-only: % of job %, step "%" refused', TG_OP, OLD.job_id, OLD.step
        USING ERRCODE = 'restrict_violation',
              HINT = 'Ended jobs and their ledger rows are removed together by prune_jobs.';
END
$body$
"""
LEDGER_TRIGGER = """
CREATE TRIGGER conveyor_ledger_append_only BEFORE UPDATE OR DELETE ON conveyor_ledger
    FOR EACH ROW EXECUTE FUNCTION conveyor_ledger_is_append_only()
"""

# Free space for HOT renewals; vacuum early and without pauses, since every claim walks past dead index entries.
JOB_STORAGE = """
ALTER TABLE conveyor_job SET (
    fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
)
"""
WORKER_STORAGE = "ALTER TABLE conveyor_worker SET (fillfactor = 50)"


class OnPostgreSQL(migrations.RunSQL):
    """A statement for PostgreSQL that does nothing elsewhere.

    `migrate` makes the tables also in databases where no job lives, as in an SQLite default beside the jobs' own.
    """

    def database_forwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any) -> None:
        if schema_editor.connection.vendor == "postgresql":
            super().database_backwards(app_label, schema_editor, from_state, to_state)


class Migration(migrations.Migration):
    """Storage details of the tables made by 0001."""

    dependencies: ClassVar = [("conveyor", "0001_initial")]

    operations: ClassVar = [
        OnPostgreSQL(READY_SEQUENCE, "DROP SEQUENCE conveyor_ready_seq"),
        OnPostgreSQL(LEDGER_FUNCTION, "DROP FUNCTION conveyor_ledger_is_append_only"),
        OnPostgreSQL(LEDGER_TRIGGER, "DROP TRIGGER conveyor_ledger_append_only ON conveyor_ledger"),
        OnPostgreSQL(
            JOB_STORAGE,
            "ALTER TABLE conveyor_job RESET (fillfactor, autovacuum_vacuum_scale_factor, "
            "autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_delay)",
        ),
        OnPostgreSQL(WORKER_STORAGE, "ALTER TABLE conveyor_worker RESET (fillfactor)"),
    ]
