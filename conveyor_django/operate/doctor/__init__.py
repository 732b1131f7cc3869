"""The checks of `conveyor_doctor`: one question to a function, which yields what it finds; together in `findings.py`.

Each gets the `Fleet` of one database and changes nothing.
"""
