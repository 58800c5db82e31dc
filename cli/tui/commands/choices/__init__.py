"""Rows of the pickers: what a command offers, and what Enter does with it."""
