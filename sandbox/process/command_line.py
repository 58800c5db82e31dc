"""Split a command line of the settings into variables and words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A program with its arguments, and the variables that are set for it alone.

    argv: every local user can read it while the program runs
    environment: only its user can
    folder: in which it starts, None for the workspace
    readable, writable: places outside the workspace that it may read and write, too
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()


def parse_command_line(line: str) -> CommandLine:
    """Split a line as a shell does, `NAME=value` in front (also after `env`) apart from the program.

    A value that is only `$NAME` or `${NAME}` is that variable of our own environment, "" if there is none.
    Raises ValueError for an open quote and where no program is named.
    """
    import shlex

    words = shlex.split(line)
    start = 1 if words[:1] == ["env"] and len(words) > 1 and _ASSIGNMENT.match(words[1]) else 0
    environment: dict[str, str] = {}
    while start < len(words) and (match := _ASSIGNMENT.match(words[start])):
        environment[match[1]] = _expand_reference(words[start][match.end() :])
        start += 1
    if start >= len(words):
        raise ValueError("no command is named")
    return CommandLine(argv=tuple(words[start:]), environment=environment)


def _expand_reference(value: str) -> str:
    match = _REFERENCE.fullmatch(value)
    return os.environ.get(match[1] or match[2], "") if match else value


_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_REFERENCE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
