"""Servers of the Model Context Protocol that the user names in their settings: each tool of theirs is one of ours.

A server runs in the sandbox of the session, speaks JSON-RPC over its standard streams, is started with the first turn
and ends with the session. What it says is a stranger's word: its tools are asked about like any other, and are never
taken for harmless. Only tools are used; its resources, prompts and requests for samples are not.
"""
