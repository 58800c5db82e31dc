"""Cases of a suite that prints TAP (`ok NAME`, `not ok NAME # reason`), and clusters of those that fail alike."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_CASE = compile_lazily(r"^(not )?ok\b(?: \d+)?(?: -)?([^#\n]*)(?:# *(.*))?$", re.MULTILINE)
_DETAIL = compile_lazily(r"'[^']*'|\"[^\"]*\"|0x[0-9a-f]+|\d+|/[\w./-]+")
_WORD, _MODULE = compile_lazily(r"[\w./-]+"), compile_lazily(r"-m\s*([\w.]+)")

MOST_NAMES = 10
"""Cases of a cluster that are named to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCases:
    """Cases of one run. failed: reasons by name; problem: why the run says nothing, "" if it does"""

    passed: frozenset[str] = frozenset()
    failed: Mapping[str, str]
    problem: str = ""


def read_cases(output: str) -> SuiteCases:
    """Return the cases that a suite printed; one that is printed twice has to pass twice."""
    passed: set[str] = set()
    failed: dict[str, str] = {}
    for found in _CASE.finditer(output):
        no, name, reason = found[1], found[2].strip(), (found[3] or "").strip()
        if no:
            failed[name] = reason or "no reason"
        elif name and not reason.casefold().startswith("skip"):  # it was not run
            passed.add(name)
    if not passed and not failed:
        return SuiteCases(failed={}, problem="it prints no case: `ok NAME` or `not ok NAME # reason`")
    return SuiteCases(passed=frozenset(passed - failed.keys()), failed=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Failures that look alike. key: their reason without names, numbers and paths"""

    key: str
    names: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return the cluster in words for a model."""
        more = len(self.names) - MOST_NAMES
        names = ", ".join(self.names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        return f"{len(self.names)} cases fail with: {self.reason}\nCases: {names}"


def cluster_failures(cases: SuiteCases) -> list[Cluster]:
    """Return the clusters, the largest first."""
    found: dict[str, list[str]] = {}
    for name, reason in cases.failed.items():
        found.setdefault(_DETAIL.sub("#", reason), []).append(name)
    clusters = [
        Cluster(key=key, names=tuple(sorted(names)), reason=cases.failed[sorted(names)[0]])
        for key, names in found.items()
    ]
    return sorted(clusters, key=lambda each: (-len(each.names), each.key))


def describe_change(before: SuiteCases, after: Sequence[SuiteCases]) -> tuple[list[str], list[str]]:
    """Return the cases that were gained in each of the runs, and those that were lost in one of them."""
    gained = set(before.failed).intersection(*(each.passed for each in after))
    lost = {name for name in before.passed if any(name not in each.passed for each in after)}
    return sorted(gained), sorted(lost)


def has_suite_file(suite: str, path: str) -> bool:
    """Return whether a suite's command names a file, the folder that it is in, or its module."""
    words = [word.removeprefix("./").rstrip("/") for word in (*shlex.split(suite), *_WORD.findall(suite))]
    modules = [f"/{each.replace('.', '/')}" for each in _MODULE.findall(suite)]
    return any(path == word or path.startswith(f"{word}/") for word in words if word not in ("", ".")) or any(
        f"/{path}".endswith(f"{each}.py") or f"{each}/" in f"/{path}" for each in modules
    )
