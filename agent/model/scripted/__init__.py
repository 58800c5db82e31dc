"""Models that replay a script or a recorded session."""
