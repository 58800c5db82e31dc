"""Models: one small protocol and its implementations."""
