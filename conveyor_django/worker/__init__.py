"""A worker: a supervisor and its children.

Follow one job: `pump` claims it, `executor` runs it by `handler` (and `atomic`), `decide` says what its end means,
`pump` keeps that in its `outbox` and gives it to `finisher`, which writes it, fenced. Meanwhile `heartbeat` renews its
lease and `wakeup` listens for more. `child` puts these together in one process; `supervisor` starts, watches and
replaces such processes, and `takeover` rescues what dead ones held.
"""
