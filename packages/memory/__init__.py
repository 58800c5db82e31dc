"""Learning from sessions: cases and lessons of a repository, and what a person does with them."""
