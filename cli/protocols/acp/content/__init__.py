"""Content of the protocol: prompts in, updates out."""
