"""Checks of requirements that run code of the turn beside that of before it, or beside a mutation of it."""
