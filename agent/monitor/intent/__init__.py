"""Cumulative intent: chains of actions that are harmless one by one, such as a secret read, encoded and sent."""
