"""The interactive session in a terminal."""
