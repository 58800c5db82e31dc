"""A server of the Model Context Protocol (MCP): other agents call the code map, the offline engine and whole runs."""
