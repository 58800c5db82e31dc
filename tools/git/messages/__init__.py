"""Commit messages: a repository's style, learned from its log, and summaries of changes without a model."""
