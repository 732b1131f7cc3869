"""What Django's migrations have no words for: a sequence, the ledger's trigger, storage parameters."""

from __future__ import annotations

from typing import ClassVar

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


class Migration(migrations.Migration):
    """Storage details of the tables made by 0001."""

    dependencies: ClassVar = [("conveyor", "0001_initial")]

    operations: ClassVar = [
        migrations.RunSQL(READY_SEQUENCE, "DROP SEQUENCE conveyor_ready_seq"),
        migrations.RunSQL(LEDGER_FUNCTION, "DROP FUNCTION conveyor_ledger_is_append_only"),
        migrations.RunSQL(LEDGER_TRIGGER, "DROP TRIGGER conveyor_ledger_append_only ON conveyor_ledger"),
        migrations.RunSQL(
            JOB_STORAGE,
            "ALTER TABLE conveyor_job RESET (fillfactor, autovacuum_vacuum_scale_factor, "
            "autovacuum_vacuum_threshold, autovacuum_analyze_scale_factor, autovacuum_vacuum_cost_delay)",
        ),
        migrations.RunSQL(WORKER_STORAGE, "ALTER TABLE conveyor_worker RESET (fillfactor)"),
    ]
