"""What may be touched: processes, paths, policy and snapshots. Knows no floor above it."""
