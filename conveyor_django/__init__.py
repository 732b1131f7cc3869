"""Conveyor."""
