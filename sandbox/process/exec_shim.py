"""A few lines of Python that run inside a sandbox, take one action, and then exec the command."""

from __future__ import annotations

import sys
from pathlib import Path


def build_exec_prefix(code: str, *arguments: str) -> tuple[str, ...]:
    """Return a prefix for an argv. `code` finds its arguments from `sys.argv[1]` on; os and sys are imported.

    Afterwards Python's own changes are reverted: two ignored signals, and LC_CTYPE.
    """
    script = _BEFORE + code + _AFTER.format(at=1 + len(arguments))
    return (str(Path(sys.executable).resolve()), "-I", "-S", "-c", script, *arguments)


_BEFORE = "import os, sys\n"

_AFTER = """
import _signal
for each in (_signal.SIGPIPE, _signal.SIGXFSZ):
    _signal.signal(each, _signal.SIG_DFL)
try:
    with open("/proc/self/environ", "rb") as f:
        e = dict(each.split(b"=", 1) for each in f.read().split(b"\\0") if b"=" in each)
except OSError:
    e = os.environb
try:
    os.execvpe(sys.argv[{at}], sys.argv[{at}:], e)
except OSError as error:
    sys.exit(f"{{sys.argv[{at}]}}: {{error.strerror}}")
"""
