"""Real runs, held against a model of the protocol.

`log.py` installs the triggers that log every change in the order of the commits, and reads it; `check.py` names the
first step that the model forbids: `model.py` is its state, `jobs.py` and `rows.py` are the guards of each change,
`commits.py` those of a whole transaction. `behaviour.py` has TLC itself look at the log of a small run. The checker is
tested on logs that are wrong on purpose: `runs.py` makes real ones, `mutations.py` lists what is altered in them.
"""
