"""Transactions over several files: all changes are made or none."""
