"""Slash commands for what is on the screen: its theme, and copies of it."""
