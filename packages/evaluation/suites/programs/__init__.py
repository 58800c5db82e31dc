"""Suites of small programs: running them on inputs in a sandbox, and the checker that compares their answers."""
