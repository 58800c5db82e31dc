"""Candidate changes: generation, likelihood, order, ranking and the edits that make them."""
