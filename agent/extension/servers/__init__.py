"""MCP servers in what a person types: resources that a prompt mentions, prompts that are called like commands."""
