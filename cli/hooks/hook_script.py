"""Texts of the installed hooks: a script for git's own folder, and marked lines for files that others share.

The script names the program of this machine. The lines name none: they are committed, and find it on PATH.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from cli.own_command import find_own_command

MARK = "# patchwright hook: `patchwright hook uninstall` puts back what was here before."

MISSING = ("pass", "fail")
"""What a hook that does not find the program does, after it has said so."""

BEGIN = "# >>> patchwright hook {name}: `patchwright hook uninstall` removes these lines{added}"
END = "# <<< patchwright hook"
ADDED = " and this file"

_SCRIPT = """\
#!/bin/sh
{mark}
here=$(dirname -- "$0")
{read}if [ -x "$here/{kept}" ]; then
  {pipe}"$here/{kept}" "$@" || exit $?
fi
if [ -x {program} ]; then
  {pipe}{command} hook run {words} "$@"
  exit $?
fi
if command -v patchwright >/dev/null 2>&1; then
  {pipe}patchwright hook run {words} "$@"
  exit $?
fi
{missing}
"""
# git passes the pushed refs to a pre-push hook on its input: both hooks have to read it, whole.
_READ = "input=$(cat && printf x)\ninput=${input%x}\n"
_PIPE = "printf '%s' \"$input\" | "

_LINES = """\
{read}if command -v patchwright >/dev/null 2>&1; then
  {pipe}patchwright hook run {words} "$@" || exit $?
else
  {missing}
fi
{restore}"""
_RESTORE = """\
if [ -n "$patchwright_input" ]; then
  exec <<END_OF_REFS
$patchwright_input
END_OF_REFS
fi
"""
"""The lines that follow read the refs from their input again."""

_LEFTHOOK = """\
{name}:
  commands:
    patchwright:
      use_stdin: true
      run: |-
        if command -v patchwright >/dev/null 2>&1; then
          patchwright hook run {words} {{0}}
        else
          {missing}
        fi
"""


def build_script(name: str, kept: str, options: Sequence[str], missing: str) -> str:
    """Return the hook for git's own folder. kept: name of the earlier hook beside it, which runs first."""
    command = find_own_command()
    by_input = name == "pre-push"
    return _SCRIPT.format(
        mark=MARK,
        read=_READ if by_input else "",
        pipe=_PIPE if by_input else "",
        kept=kept,
        program=shlex.quote(command[0]),
        command=shlex.join(command),
        words=shlex.join([name, *options]),
        missing=_format_missing(name, missing, indent=""),
    )


def build_shell_lines(name: str, options: Sequence[str], missing: str, *, added: bool) -> str:
    """Return the marked lines for a shell script. added: whether the script consists of them alone."""
    by_input = name == "pre-push"
    lines = _LINES.format(
        read="patchwright_input=$(cat)\n" if by_input else "",
        pipe='printf "${patchwright_input:+%s\\n}" "$patchwright_input" | ' if by_input else "",
        words=shlex.join([name, *options]),
        missing=_format_missing(name, missing, indent="  "),
        restore=_RESTORE if by_input else "",
    )
    return _wrap(name, lines, added=added)


def build_lefthook_lines(name: str, options: Sequence[str], missing: str) -> str:
    """Return the marked lines for a YAML configuration of lefthook."""
    lines = _LEFTHOOK.format(
        name=name,
        words=shlex.join([name, *options]),
        missing=_format_missing(name, missing, indent=" " * 10),
    )
    return _wrap(name, lines, added=False)


def remove_lines(text: str, name: str) -> tuple[str, bool] | None:
    """Return the text without the marked lines and whether the file was added with them; None without such lines."""
    begin = re.escape(BEGIN.format(name=name, added=""))
    found = re.search(rf"(?ms)^{begin}({ADDED})?\n.*?^{re.escape(END)}(\n|\Z)", text)
    if found is None:
        return None
    return text[: found.start()] + text[found.end() :], found[1] is not None


def _wrap(name: str, lines: str, *, added: bool) -> str:
    return f"{BEGIN.format(name=name, added=ADDED if added else '')}\n{lines}{END}\n"


def _format_missing(name: str, missing: str, *, indent: str) -> str:
    """Return the commands for a program that is not found; git's setting outweighs the choice at installation."""
    said = (
        f"patchwright: {name}: nothing was checked, for the program is not found on PATH:"
        " install it, or see git config patchwright.missing (pass, fail)"
    )
    lines = (
        f"echo '{said}' >&2",
        f'[ "$(git config --get patchwright.missing || echo {missing})" = pass ] || exit 1',
    )
    return f"\n{indent}".join(lines)
