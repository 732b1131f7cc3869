"""Parameters of every statement, for tests that go through all of them."""

from __future__ import annotations

import datetime as dt
import uuid
from typing import Any

OWNER = uuid.UUID("11111111-1111-1111-1111-111111111111")

_TOKENS = {"ids": [1, 2, 3], "versions": [1, 1, 1]}
_LOCK = {"lock_class": 1, "lock_id": 2}
_TRACE = {"traceparent": None, "tracestate": None}

SAMPLES: dict[str, dict[str, Any]] = {
    "add_edges": {"jobs": [2, 3], "needs": [1, 1], "on_failures": ["cancel", "run"]},
    "add_workflow": {"name": "n", "now": None},
    "beat_worker": {"incarnation": OWNER, "draining": False, "holds_lock": True, "now": None},
    "cancel_job": {"id": 1, "now": None},
    "cancel_jobs": {"ids": [1, 2], "now": None},
    "cancel_workflow": {"id": 1, "now": None},
    "claim_jobs": {
        "owner": OWNER, "queues": ["q1", "q2"], "leases": [30.0, 60.0], "limit": 32, "park": 500, "now": None,
    },
    "claim_plain_jobs": {"owner": OWNER, "queues": ["q1", "q2"], "leases": [30.0, 60.0], "limit": 32, "now": None},
    "count_held": {"owner": OWNER},
    "count_ready": {"limit": 100},
    "count_states": {"limit": 100},
    "count_ended": {"limit": 100, "failures": 100, "now": None},
    "count_retried": {"limit": 100, "now": None},
    "declare_crons": {
        "names": ["a"], "expressions": ["* * * * *"], "zones": ["UTC"], "tasks": ["t"], "args": ["[]"],
        "kwargs": ["{}"], "queues": [None], "missed": ["latest"], "max_missed": [100], "overlaps": ["allow"],
        "jitters": [0.0], "now": None,
    },
    "deregister_worker": {"incarnation": OWNER},
    "drain_workers": {"incarnations": [OWNER], "now": None},
    "draw_ready_seqs": {"count": 3},
    "end_attempts": {
        **_TOKENS, "verbs": ["retry"] * 3, "delays": [0.0] * 3, "error_classes": [""] * 3, "messages": [""] * 3,
        "tracebacks": [""] * 3, "owner": OWNER, "keep": 100, "max_releases": 100, "now": None,
    },
    "enqueue_job": {
        "queue": "q1", "task": "t", "args": "[]", "kwargs": "{}", "max_attempts": 5, "priority": 0,
        "run_at": None, "idempotency_key": "k", **_TRACE, "concurrency_key": None, "now": None,
    },
    "enqueue_jobs": {
        "queues": ["q1", "q2"], "tasks": ["t", "t"], "args": ["[]"] * 2, "kwargs": ["{}"] * 2,
        "max_attempts": [5, 5], "priorities": [0, 0], "run_ats": [None, None], "idempotency_keys": ["k", None],
        "traceparents": [None, None], "tracestates": [None, None], "concurrency_keys": [None, "c"],
        "workflow_ids": [None, None], "workflow_roles": [None, None], "pendings": [0, 0], "names": [None, None],
        "ready_seqs": [None, None], "now": None,
    },
    "find_dead_workers": {"now": None},
    "find_ended_workflows": {"limit": 100},
    "find_jobs_by_keys": {"queues": ["q1", "q2"], "keys": ["k", "l"]},
    "find_late_edges": {"limit": 100, "after": 0},
    "find_lockers": {"id": 1, "now": None},
    "find_orphans": {"limit": 100},
    "find_stuck": {"limit": 100},
    "finish_workflows": {"ids": [1, 2], "now": None},
    "hold_fence": {"id": 1, "version": 1, "owner": OWNER},
    "hold_worker_lock": {"incarnation": str(OWNER)},
    "list_crons": {"now": None},
    "join_workflow": {"id": 1},
    "list_dependants": {"parents": [1, 2]},
    "list_idle_slots": {},
    "list_invalid_indexes": {},
    "list_leases": {},
    "list_line_heads": {"limit": 100, "now": None},
    "list_needed": {"id": 1},
    "list_parked_keys": {"limit": 100, "after_queue": "", "after_key": ""},
    "list_queues": {},
    "list_runs": {"limit": 100, "shown": 10},
    "list_sessions": {"now": None},
    "list_snapshot_holders": {"seconds": 300.0, "transactions": 1000, "now": None},
    "lock_dead_jobs": {"id": 1},
    "lock_workflow": {"id": 1},
    "make_permits": {"queues": ["q1"], "keys": ["k"], "caps": [3], "now": None},
    "measure_tables": {"names": ["conveyor_job"]},
    "measure_vacuum": {"now": None},
    "next_due": {"now": None},
    "notify_cancel": {"channel": "c", "id": 1},
    "notify_queues": {"channel": "c", "queues": ["q1"]},
    "probe_job": {"id": 1},
    "promote_jobs": {"limit": 100, "now": None, **_LOCK},
    "prune_chosen": {"ids": [1, 2], "finished_ats": ["2031-05-06 07:08:09+00", None]},
    "pace_token": {"id": 1, "requests": 60, "seconds": 60.0, "now": None},
    "prune_permits": {"limit": 100, "idle": 3600.0, "now": None},
    "prune_jobs": {"limit": 100, "retention": 60.0, "failed_retention": 60.0, "now": None, **_LOCK},
    "prune_workflows": {"limit": 100, "retention": 60.0, "failed_retention": 60.0, "now": None, **_LOCK},
    "read_server": {},
    "record_step": {"id": 1, "version": 1, "step": "s", "result": "{}", "owner": OWNER, "now": None},
    "register_worker": {
        "incarnation": OWNER, "host": "h", "pid": 1, "supervisor_pid": 1, "queues": "[]", "slots": 1,
        "lease_seconds": 30.0, "holds_lock": True, "now": None,
    },
    "release_unknown": {"owner": OWNER, **_TOKENS, "max_releases": 100, "now": None},
    "renew_leases": {**_TOKENS, "leases": [30.0] * 3, "owner": OWNER, "now": None},
    "replace_job": {"id": 1, "idempotency_key": "k", "now": None},
    "requeue_jobs": {"ids": [1, 2], "now": None},
    "rescue_jobs": {"limit": 100, "max_lost": 3, "now": None, "error_class": "e", **_LOCK},
    "rescue_owner": {
        "owner": OWNER, **_TOKENS, "knows_started": True, "max_lost": 3, "max_releases": 100, "reason": "r",
        "free_reason": "f", "error_class": "e", "now": None,
    },
    "resolve_edges": {"parents": [1, 2], "now": None},
    "retry_workflow": {"ids": [1, 2], "now": None},
    "sample_jobs": {"pages": 100, "now": None},
    "server_clock": {"now": None},
    "run_job_now": {"id": 1, "now": None},
    "server_timeline": {},
    "succeed_jobs": {**_TOKENS, "results": [None, "1", "{}"], "owner": OWNER, "now": None},
    "terminate_sessions": {"application_name": "nobody"},
    "tick_cron": {
        "name": "a", "seen": None, "newest": dt.datetime(2031, 5, 6, tzinfo=dt.UTC), "idempotency_keys": ["k"],
        "run_ats": [dt.datetime(2031, 5, 6, tzinfo=dt.UTC)], "queue": "q1", "task": "t", "args": "[]", "kwargs": "{}",
        "priority": 0, "max_attempts": 5, "concurrency_key": None, "now": None,
    },
    "unpark_jobs": {"queues": ["q1"], "keys": ["k"], "park": 500},
    "unpark_tasks": {"limit": 100},
}  # fmt: skip
