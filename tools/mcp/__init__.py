"""Servers of the Model Context Protocol from the user's settings: each of their tools becomes a tool of the session.

A server runs in the session's sandbox, uses JSON-RPC over its standard streams, is started with the first
turn and ends with the session. Its output is untrusted: its tools need approval like any other, and are never
assumed harmless. Only tools are used; resources, prompts and sampling requests are not.
"""
