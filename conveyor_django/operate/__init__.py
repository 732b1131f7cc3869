"""What the person on call asks and does, by commands, admin and HTTP API alike: one answer to each question.

It reads with the ORM and changes jobs through `control.py` and `queues.py` alone.
"""
