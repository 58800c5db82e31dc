"""Agents: what a session hands over to child sessions, and how it hears of them."""
