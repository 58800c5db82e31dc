"""Causes of a server's failure that lie in the sandbox, and the setting that opens what was closed.

They are recognised by a server's own words, which grant nothing: a person sets the setting.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePath

from sandbox.fs.installation import is_inside
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command_line import CommandLine
from sandbox.view.visible_places import SYSTEM
from tools.core.surroundings import Surroundings

DOWNLOADERS = frozenset({"npx", "bunx", "uvx", "pipx", "pnpx"})
"""Programs that fetch a server at its start."""

_NO_NETWORK = compile_lazily(
    r"(?i)EAI_AGAIN|\bENOTFOUND\b|ENETUNREACH|ECONNREFUSED.*registry|network is unreachable|could not resolve host"
    r"|name resolution|name or service not known|dns error|failed to establish a new connection|fetch failed"
    r"|registry\.npmjs|failed to fetch|nodename nor servname|no network"
)
_READ_ONLY = compile_lazily(r"(?i)EROFS|read-only file ?system|attempt to write a readonly database")
_MISSING = compile_lazily(
    r"(?i)ENOENT|no such file|cannot find module|not found|cannot be started|cannot see the program|does not exist"
    r"|unable to open database file|none of the specified directories"
)
_NO_START = compile_lazily(r"cannot be started|cannot see the program")
_PATH = compile_lazily(r"(?<![\w.:/])(?:~|/)[\w.@+-]*(?:/[\w.@+ -]*[\w.@+-])+")


def names_read_only(text: str) -> bool:
    """Return whether a text complains that it could not write."""
    return _READ_ONLY.search(text) is not None


def explain_cause(at: Surroundings, name: str, place: object, text: str, *, is_late: bool = False) -> str:
    """Return which bound of the sandbox a failure names, and the setting that opens it; "" for none.

    name: of the server; is_late: it did not answer in time
    """
    if not isinstance(place, CommandLine) or at.sandbox.name == "unconfined":
        return ""
    program = PurePath(place.argv[0]).name
    if not place.hosts and (_NO_NETWORK.search(text) or (is_late and program in DOWNLOADERS)):
        install = (
            f"{program} downloads it: install it, and name its own program; or "
            if program in DOWNLOADERS
            else ""
        )
        return f"the sandbox gives it no network; {install}`network = [HOST]` in [mcp.{name}] opens hosts"
    if _READ_ONLY.search(text) and not place.is_writer:
        return (
            f'it may not write there; `writable = ["."]` in [mcp.{name}] opens the workspace, an absolute folder '
            "another place, `keep = true` a folder of its own"
        )
    if _MISSING.search(text) and (hidden := _find_hidden_path(at, place, text)):
        return (
            f"the sandbox does not show {hidden}; the setting `visible_paths` opens it to be read, "
            f"`writable` in [mcp.{name}] to be written"
        )
    return ""


def _find_hidden_path(at: Surroundings, place: CommandLine, text: str) -> str:
    """Return the first path outside of what the server sees: that its command line names, or that it says is missing.

    Its program counts only where it did not start.
    """
    shown = [str(at.root), *SYSTEM, "/dev", "/proc", *map(str, (*place.readable, *place.writable))]
    words = (*(place.argv if _NO_START.search(text) else place.argv[1:]), *place.environment.values())
    paths = [found[0] for each in words for found in _PATH.finditer(each)]
    known = [each for each in paths if os.path.lexists(Path(each).expanduser())]
    named = [
        found[-1][0]
        for each in re.split(r"\n| / ", text)
        if _MISSING.search(each) and (found := list(_PATH.finditer(each)))
    ]
    for path in [*(each for each in known if Path(each).name in text), *named, *known]:
        whole = os.path.normpath(Path(path).expanduser())
        if not any(is_inside(each, one) for each in (whole, str(Path(whole).resolve())) for one in shown):
            return whole
    return ""
