"""Protocols by which other programs drive a session."""
