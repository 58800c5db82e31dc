"""The log of a session as rows: what each step was, what the window held, what became of sessions below."""
