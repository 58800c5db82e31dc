"""Input sent to a background command, judged as the shell that may read it would take it: together with earlier input.

A here-document, an open quote, a loop, a continued line make one command of several inputs; `cd`, a variable, a
function or an alias decide what later lines do.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.shell.judgement import Segment, judge_command_line
from sandbox.policy.shell.parsing.parser import parse_source
from sandbox.policy.shell.parsing.syntax import encode_source, parse_word_set

_LINE_END = compile_lazily(r"(?<!\\)[\r\n]")
"""After a backslash, a shell's line continues."""

_MOST_KEPT = 4_096
"""Characters of an unfinished construct, and of lines with lasting effects; a terminal accepts no longer line."""

_LASTING = parse_word_set(
    ". alias bind builtin cd command complete declare disown enable eval exec export getopts hash let local mapfile"
    " popd printf pushd read readarray readonly set shift shopt source trap typeset ulimit umask unalias unset"
)
"""Builtins that can change what later lines mean."""

_LOST = 'eval "$earlier_input"\n'
"""In place of more than is kept: nothing is known of what it left behind."""


class SentInput:
    """All that one command was sent, as far as it matters for what follows.

    root: the workspace
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lasting = ""
        self._pending = ""

    def build_line(self, text: str) -> str:
        """Return the line to judge before `text` is sent."""
        text = _unify_line_ends(text)
        if not text.strip() and not self._pending.strip():
            return ""
        whole = f"{self._lasting}{self._pending}{text}"
        unfinished = _LINE_END.split(self._pending)[-1]
        if unfinished == self._pending:
            return whole
        # Whether the reader takes the construct as a shell does is not known: it may be no shell, or another one.
        return f"bash -c {shlex.quote(whole)}; bash -c {shlex.quote(unfinished + text)}"

    def add(self, text: str) -> None:
        """Note what has been sent."""
        self._pending += _unify_line_ends(text)
        if _LINE_END.split(self._pending)[-1]:
            self._limit()
            return
        source = f"{self._lasting}{self._pending}"
        reading = parse_source(encode_source(source)) if _is_text(source) else None
        if reading is None or reading.problems:  # a construct that goes on, or no shell's input
            self._limit()
            return
        segments = judge_command_line(source, root=self._root).segments
        if reading.functions or any(each.argv and each.argv[0] == "exec" for each in segments):
            self._lasting = source
        else:
            lasting = [each.text for each in segments if _is_lasting(each)]
            self._lasting = "".join(f"{each}\n" for each in dict.fromkeys(lasting))
        self._pending = ""
        self._limit()

    def _limit(self) -> None:
        if len(self._pending) > _MOST_KEPT:
            self._pending = _LINE_END.split(self._pending)[-1][-_MOST_KEPT:]
            self._lasting = _LOST
        if len(self._lasting) > _MOST_KEPT:
            self._lasting = _LOST


def _unify_line_ends(text: str) -> str:
    return text.replace("\r", "\n").removesuffix("\x04")  # the key Enter; the end of the input


def _is_text(source: str) -> bool:
    try:
        source.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return False
    return True


def _is_lasting(segment: Segment) -> bool:
    """Whether it is an assignment, a builtin with lasting effects, or a command that is not known."""
    if segment.argv:
        return segment.argv[0] in _LASTING
    return not _REDIRECTION.match(segment.text)


_REDIRECTION = compile_lazily(r"\s*(\d*|\{\w+\}|&)[<>]")
"""It ends with its command; of `exec` the whole input is kept."""
