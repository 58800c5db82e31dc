"""Agents: what a session hands over to child sessions, and how it hears of them."""

OWN_TOOLS = frozenset({"delegate", "ask_user", "ask", "report"})
"""Tools that sessions with agents have beside the others."""
