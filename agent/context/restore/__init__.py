"""Rebuilding a projection and its facts from the log or a checkpoint."""
