"""The trace as one web page, or served while the session runs."""
