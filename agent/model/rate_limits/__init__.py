"""Limits of calls and tokens a minute: in one process, on one machine, over a cluster."""
