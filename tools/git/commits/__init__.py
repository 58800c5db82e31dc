"""Commits of exactly what the session changed."""
