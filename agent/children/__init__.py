"""Child sessions: sessions that a session starts, with no more rights, money or time than its own."""
