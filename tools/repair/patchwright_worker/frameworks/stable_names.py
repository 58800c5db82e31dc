"""Tests that are called otherwise each time they are collected: their parameters have the time, an address, a set."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def restore_earlier_names(names: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """The names of an earlier collection for those tests that had other ones then.

    A test that nobody knew stands for one that is missing when they are parameters of the same function, and as many
    are missing there as are new: in the order in which they were collected.
    """
    missing = _group_new_names(earlier, set(names))
    new = _group_new_names(names, set(earlier))
    other: dict[str, str] = {}
    for function, found in new.items():
        if len(found) == len(missing.get(function, ())):
            other.update(zip(found, missing[function]))
    return [other.get(name, name) for name in names]


def _group_new_names(names: Sequence[str], known: set[str]) -> dict[str, list[str]]:
    """Of the names that are not known, those with parameters."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name not in known and "[" in name:
            found.setdefault(name[: name.index("[")], []).append(name)
    return found
