"""A right history: everything that may happen has happened in it, and nothing is wrong."""

from __future__ import annotations

from .scene import MIDNIGHT, Scene


def right() -> Scene:
    """Return the run as it was."""
    scene = Scene()
    scene.note("fault", what="kill -9")
    _plain(scene)
    _retried(scene)
    _frozen(scene)
    _stepped(scene)
    _family(scene)
    _capped(scene)
    _cancelled(scene)
    _asked(scene)
    scene.entry("minutely", 4)
    for name, policies in (("now and then: rarely", {"missed": "skip"}), ("one by one", {"overlap": "skip"})):
        scene.entry(name, 3, **policies)
        scene.set(f"{name} 1", idempotency_key=None)
    scene.note("healed", what="kill -9")
    return scene


def _plain(scene: Scene) -> None:
    """Refused and then accepted under the same key; atomic."""
    scene.note("offer", name="plain", key="key of plain")
    scene.note("refuse", name="plain", error="the connection is closed")
    scene.add("plain")
    token = scene.begin("plain")
    for _ in range(3):
        scene.put("plain", token)
    scene.effect("plain", token)
    scene.succeed("plain", token)


def _retried(scene: Scene) -> None:
    """Raised, then killed between its end and its outcome, then done, by an `effect()` that its own end comes after."""
    scene.add("retried")
    scene.end("retried", scene.begin("retried"), "retry", "ready")
    killed = scene.begin("retried")
    scene.tell("retried", killed, "end")
    scene.rescue("retried", killed)
    token = scene.begin("retried")
    scene.effect("retried", token)
    scene.succeed("retried", token, event="commit")
    scene.tell("retried", token, "abort", error="the reply to the commit was lost")


def _frozen(scene: Scene) -> None:
    """One run is frozen before its first record and wakes up at the end; its effect is taken by the next but one."""
    scene.add("frozen")
    scene.set("frozen", lease_version=1)
    scene.rescue("frozen", 1)
    asleep = scene.begin("frozen")
    scene.put("frozen", asleep)
    scene.rescue("frozen", asleep)
    token = scene.begin("frozen")
    scene.put("frozen", token)
    scene.succeed("frozen", token)
    scene.tell("frozen", 1, "begin", name="frozen")
    scene.put("frozen", asleep)
    scene.tell("frozen", asleep, "end")
    scene.tell("frozen", 1, "abort", error="LeaseLost")


def _stepped(scene: Scene) -> None:
    """Dies in its second step; a zombie of it takes the first one again, in vain."""
    scene.add("stepped")
    scene.set("stepped", lease_version=1)
    scene.rescue("stepped", 1)
    killed = scene.begin("stepped")
    scene.step("stepped", killed, "first")
    scene.tell("stepped", killed, "step_begin", step="second")
    scene.rescue("stepped", killed)
    token = scene.begin("stepped")
    scene.step("stepped", token, "second")
    scene.ledger("stepped", token, "atomic")
    scene.effect("stepped", token, "atomic")
    scene.effect("stepped", killed, None)
    scene.effect("stepped", token, None)
    scene.succeed("stepped", token)
    scene.tell("stepped", 1, "begin", name="stepped")
    scene.tell("stepped", 1, "step_begin", step="first")
    scene.tell("stepped", 1, "step_end", step="first")


def _family(scene: Scene) -> None:
    """One that succeeds and one that fails, and who needs them."""
    scene.add("parent")
    scene.add("loser")
    scene.add("child", state="blocked")
    scene.add("orphan", state="blocked")
    scene.add("heir", state="blocked")
    scene.need("child", "parent")
    scene.need("orphan", "loser")
    scene.need("heir", "loser", "run")
    asleep = scene.begin("parent")
    scene.rescue("parent", asleep)
    scene.run("parent")
    scene.run("child")
    scene.tell("parent", asleep, "end")
    scene.end("loser", scene.begin("loser"), "fail", "failed")
    scene.set("orphan", state="cancelled")
    scene.run("heir")


def _capped(scene: Scene) -> None:
    """One after the other, where one may; a zombie is still there."""
    for name in ("narrow one", "narrow two"):
        scene.add(name, queue="narrow")
    asleep = scene.begin("narrow one")
    scene.rescue("narrow one", asleep)
    scene.run("narrow two")
    scene.run("narrow one")
    scene.tell("narrow one", asleep, "end")
    # Killed for its timeout, and recorded by its supervisor: nobody knows when it was gone.
    scene.add("timed out", queue="narrow")
    scene.end("timed out", scene.begin("timed out"), "fail", "failed", raised=False)
    for name, key in (("keyed a", "a"), ("keyed b", "b"), ("keyed a again", "a")):
        scene.add(name, queue="keyed", concurrency_key=key)
    one, two = scene.begin("keyed a"), scene.begin("keyed b")
    scene.succeed("keyed a", one)
    scene.run("keyed a again")
    scene.succeed("keyed b", two)
    for name in ("keyless one", "keyless two"):
        scene.add(name, queue="keyed")
    one, two = scene.begin("keyless one"), scene.begin("keyless two")
    scene.succeed("keyless one", one)
    scene.succeed("keyless two", two)


def _cancelled(scene: Scene) -> None:
    """By hand, by its handler, and as a callback that did not apply."""
    scene.add("stopped", state="cancelled", cancel_requested_at=MIDNIGHT)
    scene.add("gave up")
    scene.end("gave up", scene.begin("gave up"), "cancel", "cancelled")
    scene.add("callback", offered=False, state="cancelled", workflow_role="on_failure")


def _asked(scene: Scene) -> None:
    """A worker tells what it asks: one answer comes late, after it has asked again; what is asked late is refused."""
    scene.add("asked")
    late = scene.begin("asked")
    scene.ask("asked", late, "end")
    scene.end("asked", late, "retry", "ready")
    token = scene.begin("asked")
    scene.ask("asked", late, "end")
    scene.answer("asked", late, "end", won=True)
    scene.answer("asked", late, "end", won=False)
    scene.ask("asked", late, "renew")
    scene.answer("asked", late, "renew", won=False)
    scene.ask("asked", token, "succeed")
    scene.succeed("asked", token)
    scene.answer("asked", token, "succeed", won=True)
