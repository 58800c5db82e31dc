"""Limits of a turn, and the budget that it shares with all that it starts."""
