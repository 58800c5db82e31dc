"""`patchwright mcp`: servers of the Model Context Protocol."""
