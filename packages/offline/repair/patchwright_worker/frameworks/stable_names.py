"""Stable names for tests whose parameters contain the time, an address or a set, so that ids vary."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def restore_earlier_names(names: Sequence[str], earlier: Sequence[str]) -> list[str]:
    """Return the names of an earlier collection for tests that have other ones now.

    An unknown test replaces a missing one if both are parameters of the same function with as many missing as
    new ones: in the order in which they were collected.
    """
    missing = _group_new_names(earlier, set(names))
    new = _group_new_names(names, set(earlier))
    other: dict[str, str] = {}
    for function, found in new.items():
        if len(found) == len(missing.get(function, ())):
            other.update(zip(found, missing[function]))
    return [other.get(name, name) for name in names]


def _group_new_names(names: Sequence[str], known: set[str]) -> dict[str, list[str]]:
    """Return the unknown names with parameters."""
    found: dict[str, list[str]] = {}
    for name in names:
        if name not in known and "[" in name:
            found.setdefault(name[: name.index("[")], []).append(name)
    return found
