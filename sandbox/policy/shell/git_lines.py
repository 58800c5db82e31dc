"""Lines of git commands that write git's own data: commands cannot, so that they are run outside the sandbox, alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.fs.repository import find_root
from sandbox.policy.shell.parsing.parser import parse_source
from sandbox.policy.shell.parsing.syntax import encode_source, parse_word_set

if TYPE_CHECKING:
    from sandbox.policy.shell.judgement import Judgement, Segment

VERBS = parse_word_set(
    "add branch checkout cherry-pick fetch merge mv pull push rebase reset restore revert rm stash switch tag"
)
"""Subcommands that are run for the model once they are allowed. A commit has a tool of its own."""

_KNOWN = frozenset(("none", "read", "write", "git", "destructive", "network"))
"""Effects of a command all of whose parts were understood, and that runs no other program."""


def read_git_line(line: str, judgement: Judgement, root: Path) -> tuple[tuple[str, ...], ...]:
    """Return the commands of a line that holds nothing but git commands joined by `&&`, at least one of which writes
    git's data by one of `VERBS`; () for any other line.

    `cd FOLDER &&` becomes `-C FOLDER` of the commands after it. The folder has to be in the same repository.
    """
    if "git" not in line or judgement.problems:
        return ()
    segments = judgement.segments
    if not any(_writes_by_verb(each) for each in segments):
        return ()
    if not all(_is_plain(each) and (_only_reads(each) or _writes_by_verb(each)) for each in segments):
        return ()
    commands = parse_source(encode_source(line)).commands
    if len(commands) != len(segments) or any(each.redirects or each.assignments for each in commands):
        return ()
    source = encode_source(line)
    between = [source[one.end : other.start].strip() for one, other in pairwise(commands)]
    around = source[: commands[0].start] + source[commands[-1].end :]
    if around.strip() or any(each != "&&" for each in between):
        return ()
    found = _place_commands(each.argv for each in segments if each.argv)
    return found if all(_is_own_folder(root, split_git_command(each)[0]) for each in found) else ()


def split_git_command(argv: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the folder that `-C` names, "" for none, and the command without it."""
    folder, words = "", list(argv[1:])
    while len(words) > 1 and words[0] in ("-C", "--no-pager"):
        if words.pop(0) == "-C":
            folder = os.path.join(folder, words.pop(0))  # noqa: PTH118 - a path as written
    return folder, (argv[0], *words)


def _place_commands(lines: Iterable[Sequence[str]]) -> tuple[tuple[str, ...], ...]:
    """Return the git commands, each with the folder of the `cd`s before it."""
    folder, found = "", []
    for argv in lines:
        if argv[0] == "cd":
            folder = os.path.join(folder, argv[1])  # noqa: PTH118 - a path as written
            continue
        place, words = split_git_command(argv)
        place = os.path.join(folder, place) if place else folder  # noqa: PTH118 - a path as written
        found.append((words[0], *(("-C", place) if place else ()), *words[1:]))
    return tuple(found)


def _is_own_folder(root: Path, folder: str) -> bool:
    """Return whether a folder is in the workspace and in its repository, not in one inside."""
    if not folder:
        return True
    real, top = (root / folder).resolve(), root.resolve()
    return real.is_dir() and real.is_relative_to(top) and find_root(real) == find_root(top)


def explain_hopeless_line(judgement: Judgement) -> str:
    """Return why a line cannot do what it says where commands cannot write git's data; "" if it does not write it."""
    for each in judgement.segments:
        name = _find_verb(each)
        if name and any(effect.kind == "git" for effect in each.effects):
            if name == "commit":
                return "commands cannot write .git: use git_commit"
            if name in VERBS:
                return (
                    f"commands cannot write .git: give git {name} as a line of its own, with plain words, or joined "
                    "to other git commands by &&"
                )
            return f"commands cannot write .git, so git {name} is the user's to run"
    return ""


def _find_verb(segment: Segment) -> str:
    argv = segment.argv or ("",)
    words = split_git_command(argv)[1]
    return words[1] if len(words) > 1 and argv[0] == "git" else ""


def _is_plain(segment: Segment) -> bool:
    argv = segment.argv or ()
    is_change = len(argv) == 2 and argv[0] == "cd" and argv[1] != "-"
    return (is_change or bool(_find_verb(segment))) and all(each.kind in _KNOWN for each in segment.effects)


def _only_reads(segment: Segment) -> bool:
    return all(each.kind in ("none", "read") for each in segment.effects)


def _writes_by_verb(segment: Segment) -> bool:
    return _find_verb(segment) in VERBS and not _only_reads(segment)
