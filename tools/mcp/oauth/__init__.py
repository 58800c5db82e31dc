"""Sign-in to MCP servers behind HTTP: OAuth 2.1 with PKCE, tokens kept for one address, refreshed and never shown.

Everything that a server says about where to sign in is untrusted: each address is judged before a request or a
browser goes there. Only `patchwright mcp login` opens a browser; a session uses stored tokens.
"""
