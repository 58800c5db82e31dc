"""Strategies that make several attempts at one task."""
