"""Tests of a file as comparable units, for each language."""
