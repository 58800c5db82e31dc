"""Whether a rule that allows commands says all that one of them does, where nothing confines it.

A wildcard stands for words, not for effects: `sort *` does not allow `sort -o /etc/x`, nor `make *` `make -C /other`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.rules import NO_RULES, Rule
from sandbox.policy.shell import Segment, judge_command_line
from sandbox.policy.shell.commands.path_effects import HARMLESS_DEVICES
from sandbox.policy.vague_reads import explain_vague_read

_WILD = compile_lazily(r"[*?]")
_PATH = compile_lazily(r"(?:^|[=:,]|^-\w)((?:/(?!/)|~|\.\.(?=/|$))[^=:,]*)")
"""A path in an argument, also behind an option: `--prefix=/other`, `-C/other`."""


def says_all(rule: Rule, segment: Segment, root: Path) -> bool:
    """Return whether the words of a rule say each effect of a command, and each place outside of the workspace."""
    if segment.elsewhere:
        return False
    if not _WILD.search(rule.pattern):
        return True
    if segment.argv is None:  # a word is not known before it runs
        return False
    said = {_resolve(word, root) for word in rule.pattern.split() if not _WILD.search(word)}
    kinds = _list_kinds(_cut_words(rule.pattern))
    for effect in segment.effects:
        if effect.kind in ("none", "read"):
            if (
                effect.outside
                and not said.issuperset(effect.paths)
                and explain_vague_read(effect, root, NO_RULES)
            ):
                return False
        elif effect.kind == "write":
            if effect.outside and not said.issuperset(effect.paths):
                return False
        elif effect.kind not in kinds:
            return False
    is_known = all(effect.kind in ("none", "read", "write") for effect in segment.effects)
    return is_known or said.issuperset(_list_places_outside(segment.argv, root))


def _cut_words(pattern: str) -> str:
    """Return the words of a pattern before its first wildcard."""
    words = pattern.removesuffix(":*").split()
    first = next((at for at, word in enumerate(words) if _WILD.search(word)), len(words))
    return " ".join(words[:first])


@cache
def _list_kinds(command: str) -> frozenset[str]:
    """Return the kinds of effects that a command has by these words alone."""
    return frozenset(effect.kind for effect in judge_command_line(command, root=Path("/nowhere")).effects)


def _list_places_outside(argv: Sequence[str], root: Path) -> Iterator[str]:
    top = os.path.realpath(root)
    for word in argv[1:]:
        for found in _PATH.findall(word):
            place = _resolve(found, root)
            if found not in HARMLESS_DEVICES and place != top and not place.startswith(f"{top}/"):
                yield place


def _resolve(word: str, root: Path) -> str:
    return os.path.realpath(root / os.path.expanduser(word))  # noqa: PTH111 (a string)
