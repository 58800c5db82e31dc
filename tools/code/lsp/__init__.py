"""Language servers named in the user's settings: exact answers where one is available.

Nothing depends on one. A server runs in the sandbox without write access, is started on its first request and ends
with the session. The protocol is Microsoft's "Language Server Protocol", 3.17.
"""
