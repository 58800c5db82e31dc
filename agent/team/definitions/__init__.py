"""Agents as files: what an agent is, where its file is found, and how it is read."""
