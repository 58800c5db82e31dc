"""A place kept ready: a small server inside a sandbox forks each command, instead of a new sandbox for each."""
