"""Verification of a finished turn: only an executed check counts."""
