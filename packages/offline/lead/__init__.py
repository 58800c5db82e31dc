"""Harness-led turns: the harness runs tests, localises and verifies; a model that cannot drive writes one function."""
