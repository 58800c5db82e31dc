"""Snapshots of a workspace in a private store of git objects, and undo."""
