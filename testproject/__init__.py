"""A project that uses Conveyor: to try it, to test it, and to show what it keeps (`make demo`)."""
