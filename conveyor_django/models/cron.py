"""Cron entries: what is enqueued again and again, by the clock on some wall."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Iterator
from typing import Any, ClassVar, Final, Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from ..cronrules import CronPolicy, check_name, policy_from
from ..cronspec import CronSpec
from ..errors import InvalidCron, describe
from ..managers.cron import CronManager
from ..states import Missed, Overlap

# Any time zone's instants of these years can be read by Python, whose years are 1 to 9999.
FIRST_TICK: Final = dt.datetime(2, 1, 1, tzinfo=dt.UTC)
LAST_TICK: Final = dt.datetime(9998, 12, 31, tzinfo=dt.UTC)
# What schedulers write, and nobody else: a form that was open meanwhile must not write it back.
_SCHEDULERS: Final = {"last_tick", "last_job_id"}
# What says whether, and when, an entry ticks.
_SCHEDULE: Final = {"expression", "zone", "enabled"}


class Cron(models.Model):
    """One entry: from code (`declared`), or made in the admin.

    `last_tick` only grows, and is written in the statement that enqueues the tick's job (rule 14).
    """

    name = models.TextField(primary_key=True)
    expression = models.TextField()
    zone = models.TextField(default="UTC")
    task = models.TextField(help_text="Dotted path of the task function.")
    args = models.JSONField(default=list, blank=True)
    kwargs = models.JSONField(default=dict, blank=True)
    queue = models.TextField(null=True, blank=True, help_text="Empty: the task's own.")
    enabled = models.BooleanField(default=True)
    declared = models.BooleanField(default=False, help_text="Whether it stands in the code.")
    missed = models.TextField(choices=[(policy.value, policy.value) for policy in Missed], default=Missed.LATEST.value)
    max_missed = models.IntegerField(default=100)
    overlap = models.TextField(
        choices=[(policy.value, policy.value) for policy in Overlap], default=Overlap.ALLOW.value
    )
    jitter_seconds = models.FloatField(default=0.0)
    last_tick = models.DateTimeField(null=True, blank=True)
    last_job_id = models.BigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[CronManager] = CronManager()

    # The values of _SCHEDULE as they were read. Not a field.
    _schedule_read: tuple[Any, ...] | None = None

    class Meta:
        app_label = "conveyor"
        verbose_name = "cron entry"
        verbose_name_plural = "cron entries"
        permissions: ClassVar = [("run_cron", "Can run cron entries at once")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(missed__in=[policy.value for policy in Missed])
                & Q(overlap__in=[policy.value for policy in Overlap])
                & Q(max_missed__gte=1, jitter_seconds__gte=0),
                name="conveyor_cron_policies",
            ),
            # PostgreSQL's instants reach further than Python's: one row that cannot be read would stop all entries.
            models.CheckConstraint(
                condition=Q(last_tick__isnull=True) | Q(last_tick__range=(FIRST_TICK, LAST_TICK)),
                name="conveyor_cron_last_tick",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def save(
        self,
        *,
        force_insert: Any = False,
        force_update: bool = False,
        using: str | None = None,
        update_fields: Iterable[str] | None = None,
    ) -> None:
        """Save what is set by hand, and leave what schedulers write. Raises InvalidCron where that cannot be.

        An entry with another expression or zone, or one that is switched on again, begins anew: what it would have
        done until now was not missed.
        """
        named = {field.name for field in self._meta.concrete_fields if not field.primary_key} - _SCHEDULERS
        written = named if update_fields is None else set(update_fields)
        for error in self._complaints():
            if error.field in written or self._state.adding:
                raise error
        if not self._state.adding and using in (None, self._state.db):
            if self.enabled and self._schedule_read not in (None, self._schedule) and written & _SCHEDULE:
                self.last_tick = None
                written = written | {"last_tick"}
            update_fields = sorted(written)
        super().save(force_insert=force_insert, force_update=force_update, using=using, update_fields=update_fields)
        self.remember_schedule()

    @classmethod
    def from_db(cls, db: str | None, field_names: Collection[str], values: Collection[Any], **options: Any) -> Self:
        """Remember how it ticks, to notice a change."""
        entry = super().from_db(db, field_names, values, **options)
        if set(field_names) >= _SCHEDULE:
            entry.remember_schedule()
        return entry

    def spec(self) -> CronSpec:
        """Return when it ticks. Raises InvalidCron."""
        return CronSpec(self.expression, self.zone)

    def policy(self) -> CronPolicy:
        """Return what it does besides. Raises InvalidCron."""
        return policy_from(
            missed=self.missed, max_missed=self.max_missed, overlap=self.overlap, jitter=self.jitter_seconds
        )

    def clean(self) -> None:
        """Say what of it no scheduler could do. Raises ValidationError."""
        errors = {
            error.field: str(error)
            for error in self._complaints()
            # What is left empty `clean_fields` has refused.
            if getattr(self, error.field) not in ("", None)
        }
        if errors:
            raise ValidationError(errors)

    def remember_schedule(self) -> None:
        """Take its schedule for the one that its row has."""
        self._schedule_read = self._schedule

    @property
    def _schedule(self) -> tuple[Any, ...]:
        return (self.expression, self.zone, self.enabled)

    def _complaints(self) -> Iterator[InvalidCron]:
        for check in (self._check_name, self.spec, self.policy, self._check_arguments):
            try:
                check()
            except InvalidCron as error:
                yield error

    def _check_name(self) -> None:
        # One that is there is there.
        if self._state.adding:
            check_name(self.name)

    def _check_arguments(self) -> None:
        if not isinstance(self.args, list):
            raise InvalidCron(
                "args", f'args must be a list of positional arguments, such as [1, "a"], not {describe(self.args)}.'
            )
        if not isinstance(self.kwargs, dict):
            raise InvalidCron(
                "kwargs",
                f'kwargs must be an object of named arguments, such as {{"a": 1}}, not {describe(self.kwargs)}.',
            )
