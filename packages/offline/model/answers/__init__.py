"""Answers to questions without a model: each is looked up by read-only actions."""
