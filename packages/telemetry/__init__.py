"""Spans and metrics of a session."""
