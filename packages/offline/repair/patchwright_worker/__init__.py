"""Runner of a project's tests in its own interpreter: traces them once, then tries patches in forked children.

Standard library only, Python 3.8 or newer: the folder is run by interpreters without patchwright installed.
argv[1] is a JSON configuration; requests are JSON lines on a named pipe, replies JSON lines on stdout (the
tests' own output is discarded). Patches live in memory, nothing is written to the workspace. "warm" has
collected the tests and forks from there, for changes inside functions; "cold" has imported only the test
framework, and its children collect again with the patched source behind an import hook, for any change.
"""
