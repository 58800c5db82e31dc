"""Commands on traces of sessions."""
