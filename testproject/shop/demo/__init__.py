"""`make demo`: the shop's 500 orders go through a worker whose processes are killed and frozen meanwhile.

`flow` is the whole story; `programs` starts the scheduler and the worker as processes, `faults` breaks them,
`store` is what is done to and asked of the database, `report` judges, `screen` shows.
"""
