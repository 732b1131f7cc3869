"""Every guard of the SQL broken in turn, and who notices: races, the judge, the trace, the database itself.

``python -m tests.faults.sql_mutants`` prints the table. `recorded.py` is a worker's side of a race, which records as
handlers do; `evidence.py` plays a race with a broken statement and asks everybody; `table.py` is what is shown.
"""
