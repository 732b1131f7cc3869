"""Measurements of Conveyor on this machine; each module is a command with --help."""
