"""Benchmarks of the checks at the end of a turn, and of the selection among candidates."""
