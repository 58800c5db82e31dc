"""A session as a conversation: turns, approvals, plan mode, rewinding."""
