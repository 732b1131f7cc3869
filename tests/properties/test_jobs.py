"""Whatever is done to jobs, in whatever order, by whomever: the tables are as the reference says."""

from __future__ import annotations

import pytest
from hypothesis.stateful import run_state_machine_as_test

from ..support.connections import Connect
from .ground import Ground
from .machine import JobMachine
from .runs import RunMachine


# A failing example is made small, which takes its time.
@pytest.mark.timeout(600)
@pytest.mark.parametrize("machine", [RunMachine, JobMachine])
def test_the_statements_do_as_the_reference(machine: type[Ground], connect: Connect) -> None:
    class Machine(machine):  # type: ignore[misc, valid-type]
        connection = connect()

    run_state_machine_as_test(Machine)
