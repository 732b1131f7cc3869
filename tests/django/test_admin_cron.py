"""The pages of cron entries: everything is checked when it is saved, and the next ticks are shown."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from conveyor_django.admin import cron as pages
from conveyor_django.errors import InvalidCron
from conveyor_django.models import Cron

from ..support.factories import CronFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("cheap_passwords")]

LIST = reverse("admin:conveyor_cron_changelist")
ADD = reverse("admin:conveyor_cron_add")
AT = dt.datetime(2026, 3, 27, 12, tzinfo=dt.UTC)
GIVEN = {
    "name": "weekly", "expression": "30 2 * * *", "zone": "Europe/Berlin", "task": "tests.support.produce.anything",
    "args": "[1]", "kwargs": '{"a": 2}', "queue": "", "enabled": "on", "missed": "all", "max_missed": "7",
    "overlap": "skip", "jitter_seconds": "2.5",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    """Show the ticks before a change of the clock."""
    monkeypatch.setattr(pages.timezone, "now", lambda: AT)


def page_of(entry) -> str:
    return reverse("admin:conveyor_cron_change", args=[entry.pk])


def errors(response) -> dict[str, list[str]]:
    assert response.status_code == 200
    return dict(response.context["adminform"].form.errors)


class TestMaking:
    def test_an_entry(self, admin_client):
        assert admin_client.post(ADD, GIVEN).status_code == 302
        entry = Cron.objects.get()
        assert (entry.name, entry.expression, entry.zone, entry.task) == (
            "weekly", "30 2 * * *", "Europe/Berlin", "tests.support.produce.anything",
        )  # fmt: skip
        assert (entry.args, entry.kwargs, entry.queue, entry.enabled) == ([1], {"a": 2}, None, True)
        assert (entry.missed, entry.max_missed, entry.overlap, entry.jitter_seconds) == ("all", 7, "skip", 2.5)
        assert (entry.declared, entry.last_tick, entry.last_job_id) == (False, None, None)

    def test_the_form_has_the_defaults(self, admin_client):
        form = admin_client.get(ADD).context["adminform"].form
        initial = {name: form[name].value() for name in form.fields}
        given = {name: value for name, value in initial.items() if value is not None}
        data = given | {"name": "a", "expression": "@daily", "task": "tests.support.produce.anything"}
        assert admin_client.post(ADD, data).status_code == 302
        entry = Cron.objects.get()
        assert (entry.zone, entry.args, entry.kwargs, entry.missed, entry.max_missed, entry.overlap) == (
            "UTC", [], {}, "latest", 100, "allow",
        )  # fmt: skip
        assert entry.enabled

    def test_nothing_stands_for_no_arguments(self, admin_client):
        assert admin_client.post(ADD, GIVEN | {"args": "", "kwargs": ""}).status_code == 302
        entry = Cron.objects.get()
        assert (entry.args, entry.kwargs) == ([], {})

    @pytest.mark.parametrize(
        ("field", "value", "says"),
        [
            ("expression", "61 * * * *", "cron expression '61 * * * *' cannot be read"),
            ("expression", "0 0 31 2 *", "never matches: there is no such day"),
            ("expression", "", "This field is required"),
            ("zone", "Europe/Atlantis", "time zone 'Europe/Atlantis' is unknown"),
            ("zone", "", "This field is required"),
            (
                "task",
                "tests.support.produce.gone",
                "There is no such task: tests.support.produce has no attribute 'gone'",
            ),
            ("task", "tests.support.produce.undecorated", "not a task: decorate it"),
            ("task", "nowhere", "not a dotted path"),
            ("args", "{}", "args must be a list"),
            ("args", "[1", "Enter a valid JSON"),
            ("args", '["\\u0000"]', "cannot store the character"),
            ("kwargs", "[]", "kwargs must be an object"),
            ("queue", "nowhere", "nowhere"),
            ("missed", "some", "Select a valid choice"),
            ("overlap", "maybe", "Select a valid choice"),
            ("max_missed", "0", "max_missed must be a whole number from 1 to 1000, not 0"),
            ("max_missed", "many", "Enter a whole number"),
            ("jitter_seconds", "-1", "jitter must be seconds from 0 to 86400, not -1.0"),
            ("jitter_seconds", "nan", "Enter a number"),
            ("name", "", "This field is required"),
            ("name", "x" * 201, "at most 200 characters"),
            ("name", "a\x00b", "Null characters"),
        ],
    )
    def test_a_wrong_value_is_refused_with_the_reason(self, admin_client, field, value, says):
        found = errors(admin_client.post(ADD, GIVEN | {field: value}))
        assert list(found) == [field]
        assert len(found[field]) == 1
        assert says in found[field][0]
        assert not Cron.objects.exists()

    def test_arguments_that_do_not_fit_the_function(self, admin_client):
        found = errors(
            admin_client.post(ADD, GIVEN | {"task": "tests.support.produce.plain_add", "kwargs": '{"c": 1}'})
        )
        assert "unexpected keyword argument 'c'" in found["args"][0]

    def test_several_mistakes_are_told_at_once(self, admin_client):
        data = GIVEN | {"expression": "x", "zone": "y", "task": "z", "max_missed": "0"}
        assert set(errors(admin_client.post(ADD, data))) == {"zone", "task", "max_missed"}

    def test_a_name_that_is_taken(self, admin_client):
        CronFactory(name="weekly", expression="@daily")
        found = errors(admin_client.post(ADD, GIVEN))
        assert found == {"name": ["There is an entry 'weekly' already. Change that one."]}
        assert Cron.objects.get().expression == "@daily"

    def test_a_queue_that_lives_elsewhere(self, admin_client, settings):
        settings.CONVEYOR = {"QUEUES": {"orders": {"DATABASE": "other"}}}
        found = errors(admin_client.post(ADD, GIVEN | {"queue": "orders"}))
        assert "lives on database 'other'" in found["queue"][0]


class TestChanging:
    def test_all_but_the_name(self, admin_client):
        entry = CronFactory(name="a")
        data = GIVEN | {"name": "b", "expression": "@hourly"}
        assert admin_client.post(page_of(entry), data).status_code == 302
        entry.refresh_from_db()
        assert (entry.name, entry.expression, entry.args) == ("a", "@hourly", [1])

    def test_what_schedulers_write_meanwhile_is_not_written_back(self, admin_client, monkeypatch):
        entry = CronFactory(name="a", last_tick=AT, last_job_id=1)
        clean = pages.CronForm.clean

        def tick(form):
            Cron.objects.update(last_tick=AT + dt.timedelta(hours=1), last_job_id=2)
            return clean(form)

        monkeypatch.setattr(pages.CronForm, "clean", tick)
        data = GIVEN | {"expression": entry.expression, "zone": entry.zone}
        assert admin_client.post(page_of(entry), data).status_code == 302
        entry.refresh_from_db()
        assert (entry.last_tick, entry.last_job_id) == (AT + dt.timedelta(hours=1), 2)
        assert entry.max_missed == 7

    def test_another_schedule_begins_anew(self, admin_client):
        entry = CronFactory(name="a", last_tick=AT, last_job_id=1)
        admin_client.post(page_of(entry), GIVEN)
        entry.refresh_from_db()
        assert (entry.last_tick, entry.last_job_id) == (None, 1)

    def test_it_is_deleted(self, admin_client):
        entry = CronFactory(name="a")
        url = reverse("admin:conveyor_cron_delete", args=[entry.pk])
        assert admin_client.post(url, {"post": "yes"}).status_code == 302
        assert not Cron.objects.exists()

    def test_of_the_code_s_only_whether_it_is_enabled(self, admin_client):
        entry = CronFactory(name="a", declared=True, last_tick=AT)
        form = admin_client.get(page_of(entry)).context["adminform"].form
        assert list(form.fields) == ["enabled"]
        data = {name: value for name, value in GIVEN.items() if name != "enabled"}
        assert admin_client.post(page_of(entry), data).status_code == 302
        after = Cron.objects.get()
        assert (after.enabled, after.expression, after.last_tick) == (False, "* * * * *", AT)
        assert admin_client.post(page_of(entry), {"enabled": "on"}).status_code == 302
        # Switched on again it has missed nothing.
        assert Cron.objects.values_list("enabled", "last_tick").get() == (True, None)

    def test_one_of_the_code_s_that_is_broken_can_be_switched_off(self, admin_client):
        entry = CronFactory(name="a", declared=True)
        Cron.objects.update(zone="Europe/Atlantis", max_missed=10**6)
        assert admin_client.post(page_of(entry), {}).status_code == 302
        assert not Cron.objects.get().enabled


class TestLooking:
    def test_the_next_ticks_on_its_own_clock_and_in_utc(self, admin_client):
        entry = CronFactory(expression="30 2 * * *", zone="Europe/Berlin")
        text = admin_client.get(page_of(entry)).content.decode()
        for tick in (
            "<td>Sat 2026-03-28 02:30:00 +0100</td><td>Sat 2026-03-28 01:30:00 +0000</td>",
            "<td>Sun 2026-03-29 03:00:00 +0200</td><td>Sun 2026-03-29 01:00:00 +0000</td>",
            "<td>Mon 2026-03-30 02:30:00 +0200</td><td>Mon 2026-03-30 00:30:00 +0000</td>",
        ):
            assert tick in text
        assert text.count("02:30:00") + text.count("03:00:00 +0200") == 5

    def test_the_list(self, admin_client):
        CronFactory(name="a", expression="30 2 * * *", zone="Europe/Berlin")
        CronFactory(name="b", enabled=False)
        broken = CronFactory(name="c")
        Cron.objects.filter(pk=broken.pk).update(zone="Europe/Atlantis")
        response = admin_client.get(LIST)
        shown = [pages.CronAdmin.next_tick(None, entry) for entry in response.context["cl"].result_list]
        assert shown[:2] == ["Sat 2026-03-28 02:30:00 +0100", "–"]
        assert shown[2].startswith("time zone 'Europe/Atlantis' is unknown")
        for text in shown[:2]:
            assert text in response.content.decode()

    def test_a_broken_one_has_its_page(self, admin_client):
        entry = CronFactory(name="a")
        Cron.objects.update(expression="<b>x</b>")
        text = admin_client.get(page_of(entry)).content.decode()
        assert "cannot be read" in text
        assert "<b>x</b>" not in text


class TestModel:
    """Whoever saves an entry elsewhere is told the same."""

    def test_a_good_one_is_clean(self):
        Cron(name="a", expression="@daily", task="tests.support.produce.anything").full_clean()

    def test_clean_names_each_field(self):
        entry = Cron(
            name="\x00", expression="x", zone="Europe/Berlin", task="t", args={}, kwargs=[], missed="some", max_missed=1
        )
        with pytest.raises(ValidationError) as caught:
            entry.clean()
        assert set(caught.value.message_dict) == {"name", "expression", "missed", "args"}

    @pytest.mark.parametrize(
        "change",
        [
            {"expression": "x"}, {"zone": "x"}, {"missed": "x"}, {"overlap": "x"}, {"max_missed": 0},
            {"jitter_seconds": -1.0}, {"args": {}}, {"kwargs": []},
        ],
        ids=json.dumps,
    )  # fmt: skip
    def test_save_refuses(self, change):
        with pytest.raises(InvalidCron):
            CronFactory(**change)
        entry = CronFactory(name="a")
        for name, value in change.items():
            setattr(entry, name, value)
        with pytest.raises(InvalidCron) as caught:
            entry.save()
        assert caught.value.field in change
        assert Cron.objects.values_list(*change).get() != tuple(change.values())
        # What is not to be written does not matter.
        entry.enabled = False
        entry.save(update_fields=["enabled"])
        assert not Cron.objects.get().enabled

    def test_a_name_that_cannot_be(self):
        with pytest.raises(InvalidCron, match="1 to 200 characters"):
            CronFactory(name="")

    def test_save_begins_anew_only_where_the_schedule_is_another(self):
        CronFactory(name="a", last_tick=AT)
        entry = Cron.objects.get()
        entry.max_missed = 3
        entry.save()
        assert Cron.objects.values_list("last_tick", "max_missed").get() == (AT, 3)
        entry.zone = "Europe/Berlin"
        entry.save()
        assert Cron.objects.get().last_tick is None
        Cron.objects.update(last_tick=AT)
        # What was saved is what it is now.
        entry.save()
        assert Cron.objects.get().last_tick == AT

    def test_switching_off_keeps_the_last_tick_to_look_at(self):
        CronFactory(name="a", last_tick=AT)
        entry = Cron.objects.get()
        entry.enabled = False
        entry.save()
        assert Cron.objects.get().last_tick == AT
