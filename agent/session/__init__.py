"""The session log, its indexes and everything derived from it."""
