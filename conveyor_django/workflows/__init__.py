"""Workflows: jobs that need others, enqueued together.

`graph.py` is the graph alone: names, needs, the order; `builder.py` is what a ``with workflow(...)`` block fills, with
the jobs of `members.py`; `store.py` writes it, in one transaction; `needed.py` tells a job what became of those that it
needs; `control.py` cancels a workflow and runs it again.
"""

from __future__ import annotations

from .builder import WorkflowBuilder, extend_workflow, workflow, workflow_of_run
from .control import cancel_workflow, retry_workflow
from .graph import Need, needs
from .members import JobHandle
from .needed import Needed, needed_by, results_of

__all__ = [
    "JobHandle", "Need", "Needed", "WorkflowBuilder", "cancel_workflow", "extend_workflow", "needed_by", "needs",
    "results_of", "retry_workflow", "workflow", "workflow_of_run",
]  # fmt: skip
