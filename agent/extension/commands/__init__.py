"""Commands: Markdown files whose text becomes a prompt when a person calls them by name."""
