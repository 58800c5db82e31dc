"""Forked children with limits, and the JSON lines that processes exchange."""
