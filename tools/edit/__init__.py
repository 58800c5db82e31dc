"""The tools that change parts of files: each edit at exactly one place, all edits of a call or none.

Nothing is imported here: a command that only applies a patch needs no tools of an agent.
"""
