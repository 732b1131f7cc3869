"""What is known of the job that is asked about, and of what is around it: read once, when it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from ...models import Attempt, Job, Queue
from ...results import result_id
from ...states import Verb

if TYPE_CHECKING:
    import datetime as dt

    from django.db.models import QuerySet

    from ..fleet import Fleet

_MAX_ERROR: Final = 300


@dataclass(frozen=True)
class Scene:
    """A job, and the workers and schedulers of its database."""

    job: Job
    fleet: Fleet

    @property
    def alias(self) -> str:
        """The database."""
        return self.fleet.alias

    @property
    def now(self) -> dt.datetime:
        """The database's time."""
        return self.fleet.now

    @cached_property
    def settings(self) -> Queue:
        """The settings of its queue; the defaults where it has none of its own."""
        return Queue.objects.using(self.alias).filter(name=self.job.queue).first() or Queue(name=self.job.queue)

    @cached_property
    def last_run(self) -> Attempt | None:
        """The Attempt row of its newest run, if that has ended without success."""
        return self.attempts.filter(lease_version=self.job.lease_version).first()

    @property
    def attempts(self) -> QuerySet[Attempt]:
        """The Attempt rows of this job."""
        return Attempt.objects.using(self.alias).filter(job_id=self.job.pk)

    @property
    def last_verb(self) -> Verb | None:
        """How its newest run has ended, None where it has not or succeeded."""
        return None if self.last_run is None else Verb(self.last_run.verb)

    @property
    def last_error(self) -> str:
        """What ended its newest run, in a line; "" where nothing is known."""
        run = self.last_run
        if run is None:
            return ""
        text = f"{run.error_class}: {run.message}" if run.error_class else run.message
        return text.strip().splitlines()[0][:_MAX_ERROR] if text.strip(": \n") else ""

    @property
    def jobs(self) -> QuerySet[Job]:
        """All jobs of the database."""
        return Job.objects.using(self.alias)

    @property
    def reference(self) -> str:
        """The job's name in commands and in code, whatever the database: its result's id."""
        return result_id(self.alias, self.job.pk)

    def explain(self, job_id: int) -> str:
        """Return the command that explains another job of the database."""
        return f"manage.py conveyor_explain {result_id(self.alias, job_id)}"

    def manage(self, command: str) -> str:
        """Return a management command for this database."""
        return f"manage.py {command} --database {self.alias}"
