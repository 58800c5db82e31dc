"""How the new text is adapted to the file: indentation, blank lines, quotes and words."""
