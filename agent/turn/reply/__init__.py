"""The reply of a model while it comes: its stream, and signs that it leads nowhere."""
