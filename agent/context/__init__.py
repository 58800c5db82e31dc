"""Projection of the session log into the messages of a request, and its compaction."""
