"""Checks of a change before a commit, and the linters that a project configures."""
