"""Linters and formatters that projects configure: their table, their output formats, and how they run."""
