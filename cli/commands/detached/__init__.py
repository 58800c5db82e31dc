"""Commands for sessions that run in the background, on time or on change."""
