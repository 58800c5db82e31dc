"""Benchmarks of the checks at the end of a turn."""
