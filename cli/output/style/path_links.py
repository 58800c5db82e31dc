"""Paths on the screen as links to their files (OSC 8), for terminals that are known to open them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from cli.output.style.theme import has_colours
from sandbox.lazy_pattern import compile_lazily

PROGRAMS = frozenset({"vscode", "iTerm.app", "WezTerm", "ghostty", "Hyper", "Tabby", "rio", "contour"})
"""Values of TERM_PROGRAM whose terminals open links."""

TERMS = ("xterm-kitty", "xterm-ghostty", "foot", "alacritty")
"""Beginnings of TERM whose terminals do."""

LEAST_VTE = 5000
"""First version of VTE (GNOME Terminal and others) that does."""

MOST = 20
"""Candidates of one line that are looked up."""

_SGR = compile_lazily(r"(\x1b\[[0-9;]*m)")
_CANDIDATE = compile_lazily(r"(?<![\w./\\-])(?P<path>[\w.@+/-]*[./][\w.@+/-]*\w)(?::(?P<line>\d+))?")


def can_link(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal is known to open links to files of this machine."""
    if env.get("TMUX") or env.get("STY"):  # they pass links on only if they are told to
        return False
    if env.get("TERM_PROGRAM") == "vscode":  # also in a remote window
        return True
    if env.get("SSH_CONNECTION") or env.get("SSH_TTY"):
        return False
    version = env.get("VTE_VERSION", "")
    return (
        env.get("TERM_PROGRAM") in PROGRAMS
        or env.get("TERM", "").startswith(TERMS)
        or bool(env.get("WT_SESSION") or env.get("KITTY_WINDOW_ID"))
        or (version.isdecimal() and int(version) >= LEAST_VTE)
    )


def can_link_lines(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal takes the line to go to from a link's fragment."""
    return env.get("TERM_PROGRAM") == "vscode" or bool(env.get("KITTY_WINDOW_ID"))


class PathLinks:
    """Turns the paths of a line into links, those that name files of the workspace.

    lines: the terminal goes to a line
    """

    def __init__(self, root: Path, *, lines: bool) -> None:
        self._root = root.resolve()
        self._lines = lines

    def link(self, text: str) -> str:
        """Return a line, safe to show and no longer to be measured or cut, with links; unchanged without colours."""
        if not has_colours() or "\x1b]" in text:
            return text
        left = MOST
        parts = _SGR.split(text)
        for number in range(0, len(parts), 2):
            if left > 0:
                parts[number], count = _CANDIDATE.subn(self._replace, parts[number], count=left)
                left -= count
        return "".join(parts)

    def _replace(self, match: re.Match[str]) -> str:
        found = self._root / match["path"]
        try:
            real = found.resolve()
            if not real.is_relative_to(self._root) or not real.is_file():
                return match[0]
        except (OSError, RuntimeError):  # a loop of links, a name that is too long
            return match[0]
        line = f"#{match['line']}" if self._lines and match["line"] else ""
        target = f"file://{quote(os.fsencode(real))}{line}"
        return f"\x1b]8;;{target}\x1b\\{match[0]}\x1b]8;;\x1b\\"
