"""Draft of AGENTS.md from the files of a repository."""
