"""Table of performance rewrites over the syntax tree of Python."""
