"""Commit messages: the style of a repository, learned from its log, and what a change does, told without a model."""
