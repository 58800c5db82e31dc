"""Strategies: how a turn is made of child sessions, in place of the loop alone."""
