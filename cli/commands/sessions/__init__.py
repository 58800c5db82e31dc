"""Commands on recorded sessions: search, export, replay, undo, context."""
