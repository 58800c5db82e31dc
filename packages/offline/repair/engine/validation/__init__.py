"""Validation of candidates by tests: worker process, requests, full suite, behaviour comparison."""
