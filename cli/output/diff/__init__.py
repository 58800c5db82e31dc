"""Diffs for a terminal."""
