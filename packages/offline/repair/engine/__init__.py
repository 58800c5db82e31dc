"""The repair engine for Python: search, results and edits of a repair."""
