"""Suites of whole projects, whose tasks begin with a commit or a prepared folder."""
