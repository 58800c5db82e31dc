"""Compaction stages: folding, summary, and the decision when to run them."""
