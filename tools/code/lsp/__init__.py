"""Language servers that the user has and names in their settings: exact answers where there are some.

Nothing depends on one. A server runs in the sandbox, may write nothing, is started when it is first asked, and ends
with the session. The protocol is Microsoft's "Language Server Protocol", 3.17.
"""
