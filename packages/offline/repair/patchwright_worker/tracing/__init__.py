"""Traces of executed lines: coverage by test and the slice of a failure."""
