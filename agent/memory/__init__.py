"""What earlier sessions found out about a repository: stored, retrieved, shown, deleted."""
