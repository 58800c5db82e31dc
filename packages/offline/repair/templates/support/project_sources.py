"""Knowledge of the project's files: how functions are called and defined anywhere in the project.

Ingredients of a fix are mostly in the same project, if not in the same file (plastic surgery: Barr 2014).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

from packages.offline.repair.templates.support.source_tree import Source


class ProjectSources:
    """The source files of a search, queried together. Facts of each file are cached with it, combined ones here."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self._members: dict[str, Counter[str]] = {}

    def collect_parameters(self, name: str) -> dict[str, ast.expr | None]:
        """Return parameters of functions, methods or classes of this name, with their defaults."""
        found: dict[str, ast.expr | None] = {}
        for source in self.sources:
            for arguments in source.definitions.get(name, ()):
                found.update(_map_defaults(arguments))
        return found

    def binds_attribute(self, attribute: str) -> bool:
        """Return whether any file binds an attribute of this name."""
        return any(attribute in source.attributes_bound for source in self.sources)

    def count_members(self, root: str) -> Counter[str]:
        """Return members of a module or class that files import under this name, with their counts."""
        if root not in self._members:
            self._members[root] = _sum_counters(
                source.members.get(root, Counter()) for source in self.sources
            )
        return self._members[root]

    def count_neighbours(self, held: frozenset[str]) -> Counter[str]:
        """Return texts in displays by how often they occur together with these; without these."""
        found: Counter[str] = Counter()
        for source in self.sources:
            for display in source.displays:
                for text in display - held:
                    found[text] += len(display & held)
        return found

    @cached_property
    def bare_calls(self) -> Counter[str]:
        """Methods called without arguments, with their counts."""
        return _sum_counters(source.bare_calls for source in self.sources)


def _sum_counters(counts: Iterable[Counter[str]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in counts:
        found.update(each)
    return found


def _map_defaults(arguments: ast.arguments) -> dict[str, ast.expr | None]:
    every = [*arguments.posonlyargs, *arguments.args]
    defaults = [*[None] * (len(every) - len(arguments.defaults)), *arguments.defaults]
    found = {each.arg: default for each, default in zip(every, defaults, strict=True)}
    found |= {e.arg: d for e, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)}
    return {name: default for name, default in found.items() if name not in ("self", "cls")}
