"""The command of the warm process."""
