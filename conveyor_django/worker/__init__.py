"""A worker: a supervisor and its children.

Follow one job: `pump` claims it, `executor` runs it by `handler` (and `atomic`), `decide` says what its end means,
`pump` hands that to `finisher`, which writes it. Meanwhile `heartbeat` renews its lease and `wakeup` listens for
more. `child` puts these together in one process; `supervisor` starts, watches and replaces such processes.
"""
