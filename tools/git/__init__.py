"""git for the session: tools, the broker that runs git, work trees, commits and commit messages."""
