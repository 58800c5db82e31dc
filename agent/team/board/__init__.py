"""Findings that the agents at work for one parent share while they work."""
