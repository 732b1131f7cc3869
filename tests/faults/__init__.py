"""Real workers, schedulers and producers on a real PostgreSQL, while something of it is broken.

`jobs.py` has the tasks, `workload.py` says what is enqueued, `producer.py` enqueues it; `fleet.py` has the worker and
scheduler processes, `stage.py` is what a fault works on, `scenarios/` has the faults. `run.py` runs one scenario and
has it judged; `test_faults.py` does so with all of them, ``python -m tests.faults`` with other numbers.
"""
