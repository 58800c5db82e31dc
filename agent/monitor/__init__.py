"""Monitors over the events of a session: phases, workflow rules, external changes."""
