"""Split a command line of the settings into variables and words."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field, replace
from pathlib import Path

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """A program with its arguments, and the variables that are set for it alone.

    argv: every local user can read it while the program runs
    environment: only its user can
    folder: in which it starts, None for the workspace
    readable, writable: places outside the workspace that it may read and write, too
    hosts: that it may reach beside those of the session
    is_writer: it may write the workspace, but for its protected places
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    folder: Path | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    is_writer: bool = False


def parse_command_line(line: str) -> CommandLine:
    """Split a line as a shell does, `NAME=value` in front (also after `env`) apart from the program.

    A value that is only `$NAME` or `${NAME}` is that variable of our own environment, "" if there is none.
    Raises ValueError for an open quote and where no program is named.
    """
    found = _split_line(line)
    values = {name: _expand_reference(value) for name, value in found.environment.items()}
    return replace(found, environment=values)


def fill_in_command_line(line: str) -> CommandLine:
    """Split a line like `parse_command_line`, and fill in the variables in its words and values.

    Raises ValueError that names a variable that is not set.
    """
    found = _split_line(line)
    values = {
        name: os.environ.get(value[1:], "") if _PLAIN.fullmatch(value) else fill_in_variables(value)
        for name, value in found.environment.items()
    }
    return replace(found, argv=tuple(map(fill_in_variables, found.argv)), environment=values)


def fill_in_variables(text: str) -> str:
    """Return a text with `${NAME}` and `${NAME:-default}` replaced by our own environment's values.

    An empty variable is set. Raises ValueError that names a variable that is not.
    """

    def get_value(match: re.Match[str]) -> str:
        value = os.environ.get(match[1], match[2])
        if value is None:
            raise ValueError(
                f"the variable {match[1]} is not set: export it, or write ${{{match[1]}:-default}}"
            )
        return value

    return VARIABLE.sub(get_value, text)


def _split_line(line: str) -> CommandLine:
    import shlex

    words = shlex.split(line)
    start = 1 if words[:1] == ["env"] and len(words) > 1 and _ASSIGNMENT.match(words[1]) else 0
    environment: dict[str, str] = {}
    while start < len(words) and (match := _ASSIGNMENT.match(words[start])):
        environment[match[1]] = words[start][match.end() :]
        start += 1
    if start >= len(words):
        raise ValueError("no command is named")
    return CommandLine(argv=tuple(words[start:]), environment=environment)


def _expand_reference(value: str) -> str:
    match = _REFERENCE.fullmatch(value)
    return os.environ.get(match[1] or match[2], "") if match else value


VARIABLE = compile_lazily(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^}$]|\$(?!\{))*))?\}")
"""A variable in a text, with its default; a default holds no further variable."""

_PLAIN = compile_lazily(r"\$[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = compile_lazily(r"([A-Za-z_][A-Za-z0-9_]*)=")
_REFERENCE = compile_lazily(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
