"""`patchwright mcp`: the Model Context Protocol."""
