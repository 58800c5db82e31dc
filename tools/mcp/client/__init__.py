"""Connections by the official SDK. Its import takes a second and 40 MB, so only a session with a server does it."""
