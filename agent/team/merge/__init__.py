"""Child sessions that write: each in a worktree of its own, its changes merged into the parent's files."""
