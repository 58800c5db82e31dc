"""/attempts and /strategy: turns of several sessions, and the person's part in them."""
