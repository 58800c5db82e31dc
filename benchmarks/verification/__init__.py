"""Benchmarks of the checks that decide whether a change is believed."""
