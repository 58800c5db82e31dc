"""Whether a session sends spans and metrics."""
