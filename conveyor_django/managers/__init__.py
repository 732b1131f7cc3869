"""Raw-SQL managers: one short method per statement of `sql/`, under the same name.

Each method takes `on`, the connection to run on: Django's for the alias when left out (so that it joins the
caller's transaction), a worker's dedicated psycopg connection otherwise.
"""
