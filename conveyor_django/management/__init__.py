"""`manage.py` commands; each parses, builds and runs."""
