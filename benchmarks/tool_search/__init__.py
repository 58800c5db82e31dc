"""Search for tools of public MCP servers, in a user's words and in a model's."""
