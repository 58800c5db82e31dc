"""git for a session: tools, the broker that runs git, worktrees, commits and commit messages."""
