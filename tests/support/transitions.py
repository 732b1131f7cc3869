"""A trigger that refuses any change of a job's state that `states.TRANSITIONS` does not allow."""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper

from conveyor_django.states import JobState, is_legal

GUARD = """
CREATE OR REPLACE FUNCTION test_transition_guard() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
    IF NOT (OLD.state || '>' || NEW.state) = ANY ('{{{legal}}}'::text[]) THEN
        RAISE EXCEPTION 'illegal transition of job %: % > %', OLD.id, OLD.state, NEW.state;
    END IF;
    IF NEW.lease_version < OLD.lease_version THEN
        RAISE EXCEPTION 'lease_version of job % fell from % to %', OLD.id, OLD.lease_version, NEW.lease_version;
    END IF;
    RETURN NEW;
END
$body$;
CREATE OR REPLACE TRIGGER test_transition_guard BEFORE UPDATE ON conveyor_job
    FOR EACH ROW EXECUTE FUNCTION test_transition_guard();
"""


def install_transition_guard(connection: BaseDatabaseWrapper) -> None:
    """Install the trigger in the test database."""
    # A state may stay as it is: renewals and cancel requests write other columns.
    legal = [
        f"{before}>{after}" for before in JobState for after in JobState if before == after or is_legal(before, after)
    ]
    with connection.cursor() as cursor:
        cursor.execute(GUARD.format(legal=",".join(legal)))
