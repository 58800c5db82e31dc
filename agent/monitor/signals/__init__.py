"""Signals of a session that goes wrong, found without a model in its events."""
