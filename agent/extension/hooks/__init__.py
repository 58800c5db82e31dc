"""Agent hooks: programs of the user's, or of a trusted project, that a session runs at its events.

The schema is Claude Code's. The hooks of git are another thing: `cli/hooks`.
"""
