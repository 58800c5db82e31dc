"""Runs a project's tests in its own interpreter: traces them once, then tries patches in forked children.

Standard library only, Python 3.8 or newer: it is handed to interpreters that know nothing of this
program, as a folder to run. argv[1] is a JSON configuration; requests are JSON lines on a named pipe,
replies JSON lines on stdout (the tests' own output goes nowhere). Patches live in memory, nothing is
written to the workspace. "warm" has collected the tests and forks from there, which serves changes
inside functions; "cold" has imported only the test framework, and its children collect afresh with the
patched source behind an import hook, which serves every change.
"""
