"""Instructions of several sentences, and examples in code: what they say that code can check."""
