"""Work that is done ahead of the next session."""
