"""Child sessions on the nodes of a Ray cluster, in worktrees of their own."""
