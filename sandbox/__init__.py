"""Access control and isolation: processes, paths, policy and snapshots. Imports no layer above it."""
