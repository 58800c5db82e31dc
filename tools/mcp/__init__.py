"""Servers of the Model Context Protocol from the user's settings: each of their tools becomes a tool of the session.

A server runs in the session's sandbox and uses its standard streams, or is behind an address that speaks streamable
HTTP; it is started with the first turn and ends with the session. Its output is untrusted: its tools need approval like
any other, and are never assumed harmless. Resources are read where a prompt names them, prompts are commands; requests
to sample the session's model are refused.
"""
