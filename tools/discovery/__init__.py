"""Tools that are looked up when needed, instead of being sent with every request."""
