"""Static signs of patches: what their texts say when nothing can be executed.

Patches of one task that change the same places are more often right, as are those that change files which the task
names and those that change more than one place. Changed tests and leftovers told nothing on tasks that they were not
fitted on (benchmarks/results/2026-11-30-selection.md).
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.git.diff_hunks import diff_texts
from tools.lint.test_files import is_test_file

NEAR = 3
"""Lines between two changes that are still of the same place: the context of a hunk."""

MOST_PLACES = 3
"""Hunks beyond which more of them are no better sign: a repair is seldom wider."""

WEIGHTS: Mapping[str, float] = {
    "same places": 1.0,
    "named in the task": 1.0,
    "places": 1.0,
}
"""Weight of each sign in the score of a patch."""

_WORD = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]{2,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticSigns:
    """Signs of one patch, each from 0 to about 1, and their weighted sum."""

    values: Mapping[str, float]

    @property
    def score(self) -> float:
        """The weighted sum: higher is better."""
        return sum(WEIGHTS[name] * value for name, value in self.values.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchFile:
    """A file that a patch changes. places: first and last old line of each change"""

    path: str
    removed: Sequence[str] = ()
    added: Sequence[str] = ()
    places: Sequence[tuple[int, int]] = ()


def build_patch_file(path: str, before: bytes | None, after: bytes | None) -> PatchFile:
    """Return the change of a file from its contents, None for no file."""
    hunks = diff_texts(path, *((each or b"").decode("utf-8", "replace") for each in (before, after)))
    firsts = [max(1, each.line) for each in hunks]
    return PatchFile(
        path=path,
        removed=[line for each in hunks for line in each.removed],
        added=[line for each in hunks for line in each.added],
        places=[
            (first, first + max(0, len(each.removed) - 1)) for first, each in zip(firsts, hunks, strict=True)
        ],
    )


def measure_signs(patches: Sequence[Sequence[PatchFile]], task: str = "") -> list[StaticSigns]:
    """Return the signs of each patch, beside the others. task: text of what was to be done"""
    words = set(map(str.lower, _WORD.findall(task)))
    return [
        StaticSigns(values={**_compare_patches(each, patches), **_describe_patch(each, words)})
        for each in patches
    ]


def _compare_patches(patch: Sequence[PatchFile], every: Sequence[Sequence[PatchFile]]) -> dict[str, float]:
    others = [each for each in every if each is not patch]
    shares = [_compute_place_overlap(patch, other) for other in others]
    return {"same places": sum(shares) / len(shares) if shares else 0.0}


def _describe_patch(patch: Sequence[PatchFile], words: set[str]) -> dict[str, float]:
    product = [file for file in patch if not is_test_file(file.path)]
    stems = {part.lower() for file in product for part in re.split(r"[/.]", file.path) if len(part) > 2}
    places = sum(len(file.places) for file in product)
    return {
        "named in the task": len(stems & words) / len(stems) if stems and words else 0.0,
        "places": math.log1p(min(places, MOST_PLACES)) / 2,
    }


def _compute_place_overlap(patch: Sequence[PatchFile], other: Sequence[PatchFile]) -> float:
    """Return the share of the patch's changes that are near one of the other's."""
    mine, theirs = (
        [(file.path, *place) for file in each for place in file.places] for each in (patch, other)
    )
    near = sum(
        any(path == where and first <= end + NEAR and start <= last + NEAR for where, start, end in theirs)
        for path, first, last in mine
    )
    return near / len(mine) if mine else 0.0
