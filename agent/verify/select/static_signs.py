"""Static signs of patches: what their texts say when nothing can be executed.

Where patches of the same task agree in place and lines they are more often right; scripts and tests on the side, wide
scope and lines without relation to the task speak against one. The weights were fitted on patches of several agents for
SWE-bench Lite (benchmarks/results/2026-11-25-selection.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.verify.select.patch_text import PatchFile
from tools.lint.checks.weakened import is_test_file

NEAR = 3
"""Lines between two changes that are still of the same place: the context of a hunk."""

WEIGHTS: Mapping[str, float] = {
    "same files": 0.0,
    "same places": 0.0,
    "same lines": 0.0,
    "named in the task": 0.0,
    "words of the task": 0.0,
    "size": 0.0,
    "places": 0.0,
    "only adds": 0.0,
    "tests changed": 0.0,
    "leftovers": 0.0,
}
"""Weight of each sign in the score of a patch."""

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{2,}")
_LEFTOVER = re.compile(r"^\s*(?:print\(|breakpoint\(|import pdb|console\.log\()|\b(?:TODO|FIXME|XXX)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSigns:
    """Signs of one patch, each from 0 to about 1, and their weighted sum."""

    values: Mapping[str, float]

    @property
    def score(self) -> float:
        """The weighted sum: higher is better."""
        return sum(WEIGHTS[name] * value for name, value in self.values.items())


def measure_signs(patches: Sequence[Sequence[PatchFile]], task: str = "") -> list[StaticSigns]:
    """Return the signs of each patch, beside the others. task: text of what was to be done"""
    words = set(map(str.lower, _WORD.findall(task)))
    return [
        StaticSigns(values={**_compare_patches(each, patches), **_describe_patch(each, words)})
        for each in patches
    ]


def _compare_patches(patch: Sequence[PatchFile], every: Sequence[Sequence[PatchFile]]) -> dict[str, float]:
    others = [each for each in every if each is not patch]
    if not others:
        return {"same files": 0.0, "same places": 0.0, "same lines": 0.0}
    shares = [
        (
            _compute_overlap(_list_paths(patch), _list_paths(other)),
            _compute_place_overlap(patch, other),
            _compute_overlap(_list_lines(patch), _list_lines(other)),
        )
        for other in others
    ]
    names = ("same files", "same places", "same lines")
    return {name: sum(each[place] for each in shares) / len(shares) for place, name in enumerate(names)}


def _describe_patch(patch: Sequence[PatchFile], words: set[str]) -> dict[str, float]:
    added = [line for file in patch for line in file.added]
    removed = [line for file in patch for line in file.removed]
    product = [file for file in patch if not is_test_file(file.path)]
    used = {
        word.lower()
        for file in product
        for line in (*file.added, *file.removed)
        for word in _WORD.findall(line)
    }
    stems = {part.lower() for file in product for part in re.split(r"[/.]", file.path) if len(part) > 2}
    hunks = sum(len(file.hunks) for file in patch)
    return {
        "named in the task": len(stems & words) / len(stems) if stems and words else 0.0,
        "words of the task": len(used & words) / len(used) if used and words else 0.0,
        "size": math.log1p(len(added) + len(removed)) / 4,
        "places": math.log1p(hunks) / 2,
        "only adds": float(bool(added) and not removed),
        "tests changed": float(any(is_test_file(file.path) for file in patch)),
        "leftovers": float(any(_LEFTOVER.search(line) for line in added)),
    }


def _list_paths(patch: Sequence[PatchFile]) -> set[str]:
    return {file.path for file in patch}


def _list_lines(patch: Sequence[PatchFile]) -> set[str]:
    """Return the changed lines with their sign, without blanks and comments."""
    lines = {f"+{re.sub(r'[ ]+#.*', '', each).strip()}" for file in patch for each in file.added}
    lines |= {f"-{re.sub(r'[ ]+#.*', '', each).strip()}" for file in patch for each in file.removed}
    return {each for each in lines if len(each) > 1 and not each[1:].startswith("#")}


def _compute_overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _compute_place_overlap(patch: Sequence[PatchFile], other: Sequence[PatchFile]) -> float:
    """Return the share of the patch's hunks that are near one of the other's."""
    hunks = [(file.path, hunk) for file in patch for hunk in file.hunks]
    theirs = [(file.path, hunk) for file in other for hunk in file.hunks]
    near = sum(
        any(
            path == where and hunk.first <= each.last + NEAR and each.first <= hunk.last + NEAR
            for where, each in theirs
        )
        for path, hunk in hunks
    )
    return near / len(hunks) if hunks else 0.0
