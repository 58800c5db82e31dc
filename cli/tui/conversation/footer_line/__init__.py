"""The footer below the prompt: its facts, its words, the user's own template."""
