"""Adaptation of the new text to the file: indentation, blank lines, quotes and words."""
