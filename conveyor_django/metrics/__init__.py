"""Numbers for Prometheus: from each worker, from a scheduler, and from the web process.

`catalog.py` names them all. `collector.py` makes families of what the sources give: `workers.py` reads a supervisor's
totals, `schedulers.py` a scheduler's records, `databases.py` the tables of one database, cached and bounded;
`enqueued.py` counts in the process that enqueues. `server.py` serves a command's numbers on a port of its own,
`views.py` those of the web process. `client.py` alone imports prometheus_client, the package of the extra ``metrics``.
"""
