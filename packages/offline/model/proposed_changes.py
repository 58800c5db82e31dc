"""Proposed changes by number: the doubtful fixes of a search, then the other patches that pass the same tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packages.offline.model.offline_messages import join_names, select_confident_fixes

Fix = Mapping[str, Any]
Patch = Sequence[Fix]

ACCEPT = "Apply the proposed change"
"""Beginning of the prompt with which the person accepts the changes that the previous turn proposed."""


def list_proposed_patches(data: Mapping[str, Any]) -> list[Patch]:
    """Return the proposed changes of a search; their places, from 1, are the numbers that a prompt accepts them by.

    Fixes before the first doubtful one were written and are not among them.
    """
    fixes = list(data.get("fixes", ()))
    doubtful = fixes[len(select_confident_fixes(fixes)) :]
    return [*([fix] for fix in doubtful), *data.get("alternatives", ())]


def group_by_tests(data: Mapping[str, Any]) -> list[list[int]]:
    """Return the numbers for each doubtful fix: its own, then those of the patches that pass the same tests."""
    patches, fixes = list_proposed_patches(data), list(data.get("fixes", ()))
    count = len(fixes) - len(select_confident_fixes(fixes))
    tests = [{str(test) for fix in patch for test in fix.get("tests", ())} for patch in patches]
    others = range(count, len(patches))
    return [[own + 1, *(each + 1 for each in others if tests[each] == tests[own])] for own in range(count)]


def select_numbered_fixes(data: Mapping[str, Any], numbers: Sequence[int]) -> list[Fix]:
    """Return the edits of the patches with these numbers, in their order; of numbers that are none, nothing."""
    patches = list_proposed_patches(data)
    return [fix for each in numbers if 0 < each <= len(patches) for fix in patches[each - 1]]


def write_acceptance(numbers: Sequence[int]) -> str:
    """Return the prompt that accepts the changes with these numbers."""
    plural = "s" if len(numbers) > 1 else ""
    return f"{ACCEPT}{plural} {join_numbers(numbers)}."


def join_numbers(numbers: Sequence[int]) -> str:
    """Return numbers as in a sentence: "1, 2 and 4"."""
    words = [str(each) for each in numbers]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def describe_tests(patch: Patch) -> str:
    """Return the tests that pass with a patch, as a part of a sentence."""
    names = list(dict.fromkeys(str(test) for fix in patch for test in fix.get("tests", ())))
    return f"{join_names(names)} pass{'es' if len(names) == 1 else ''} with it" if names else ""
