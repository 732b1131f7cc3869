"""The dashboard while a worker runs, a workflow's graph; where asked for, pictures of them for the documentation."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from ..support.processes import Desk, running
from .looking import Visitor
from .scene import Scene, an_hour_ago_until_now, play

# The folder where `make screenshots` wants them.
PICTURES = "CONVEYOR_SCREENSHOTS"
User = Callable[..., str]


def sights(scene: Scene) -> dict[str, str]:
    return {
        "dashboard": "/admin/conveyor/dashboard/",
        "jobs": "/admin/conveyor/job/",
        "job": f"/admin/conveyor/job/{scene.failed.pk}/change/",
        "workflow": f"/admin/conveyor/workflow/{scene.workflow}/change/",
    }


def test_the_dashboard_shows_what_a_worker_runs(visitor: Visitor, user: User, tmp_path: Path) -> None:
    desk, page = Desk(tmp_path), visitor.page
    with running("conveyor_worker"):
        scene = play(desk)
        visitor.log_in(user())
        visitor.go("/admin/conveyor/dashboard/")
        link = page.get_by_role("link", name=str(scene.running.pk), exact=True)
        expect(link).to_be_visible()
        visitor.assert_accessible()
        # It renews itself: the run ends, and is seen to be gone.
        desk.go()
        expect(link).to_have_count(0)
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("button", name="Go on")).to_be_visible()


def test_a_workflow_s_graph_leads_to_its_jobs(visitor: Visitor, user: User, tmp_path: Path) -> None:
    desk, page = Desk(tmp_path), visitor.page
    with running("conveyor_worker"):
        scene = play(desk)
        visitor.log_in(user())
        for name in ("workflow", "job"):
            visitor.go(sights(scene)[name])
            visitor.assert_accessible()
        graph = page.locator("svg", has_text="label").last
        for name in ("address", "weight", "label", "invoice", "ship", "pack"):
            expect(graph).to_contain_text(name)
        for state in ("succeeded", "failed", "cancelled", "running"):
            expect(graph).to_contain_text(state)
        visitor.go(sights(scene)["workflow"])
        page.locator(f'svg a[href*="/job/{scene.failed.pk}/"]').first.click()
        expect(page.locator("#content")).to_contain_text("label is not ready yet")
        desk.go()


@pytest.mark.skipif(PICTURES not in os.environ, reason="`make screenshots` asks for them")
def test_pictures_for_the_documentation(visitor: Visitor, user: User, tmp_path: Path) -> None:
    desk, folder = Desk(tmp_path), Path(os.environ[PICTURES])
    an_hour_ago_until_now()
    with running("conveyor_worker"):
        scene = play(desk)
        visitor.log_in(user())
        for scheme in ("light", "dark"):
            visitor.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            for name, path in sights(scene).items():
                visitor.go(path)
                visitor.page.wait_for_load_state("networkidle")
                # Written here: Playwright would start threads for it, which count as leaked.
                (folder / f"admin-{name}-{scheme}.png").write_bytes(visitor.page.screenshot(full_page=name != "jobs"))
        desk.go()
