"""Streamed Markdown and code for a terminal."""
