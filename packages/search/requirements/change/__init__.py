"""What a change does to code, beside what was asked: read from its text, without running it."""
