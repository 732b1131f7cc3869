"""One module per job queue, each a command that runs in that queue's own environment; `base.py` has what they share."""
