"""Programs called with generated inputs, and what they answer."""
