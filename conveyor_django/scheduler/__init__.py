"""The scheduler: what must happen to jobs without anyone claiming them.

`duty.py` says what a duty is: one guarded statement, repeated by the loop while it finds full batches. The
duties, each callable alone by `look_once(connection)`: `promote.py` (due jobs become ready), `ticks.py`
(cron entries, as `reading.py` reads them), `rescue.py` (lapsed leases), `dead_workers.py` (worker processes that
died), `prune.py` (retention). `pace.py` decides when each looks next, `loop.py` runs them on one connection,
`foreground.py` runs the loop as a process.

There is no leader. The batched statements take a try-lock for their own transaction and skip rows that others
hold, so several schedulers are harmless and a frozen one stops nobody.
"""
