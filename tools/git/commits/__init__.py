"""Commits of exactly the session's changes."""
