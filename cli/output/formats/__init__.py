"""Formats of other programs: findings, trajectories, predictions."""
