"""Suspected code of a report: the localiser's files and functions, and the frames of a told trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from packages.offline.reproduction.report.report_fields import Report
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

FILES = 10
"""Suspected files; the right one is among the first ten of four reports in five."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """files: paths, the likeliest first; functions: path and name; places: name → modules that define it"""

    files: Sequence[str] = ()
    functions: Sequence[tuple[str, str]] = ()
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def select_suspected(self, calls: Iterable[tuple[str, int, str]]) -> list[tuple[str, int, str]]:
        """Return the called functions in suspected files: suspected functions first, then by the files' order."""
        order = {path: place for place, path in enumerate(self.files)}
        named = {(path, name.rpartition(".")[2]) for path, name in self.functions}
        found = [each for each in calls if each[0] in order]
        return sorted(found, key=lambda each: ((each[0], each[2]) not in named, order[each[0]], each))


def locate_report(root: Path, cache: Path, text: str, report: Report, names: Sequence[str]) -> Suspicion:
    """Ask the index of the project for the code that a report points to, and where names are defined."""
    from tools.code.index.code_index import ask_index

    return ask_index(root, cache, (), lambda index: _suspect(index, text, report, names))


def _suspect(index: Index, text: str, report: Report, names: Sequence[str]) -> Suspicion:
    from tools.code.localization import localize_text

    found = localize_text(index, text, files=FILES, functions=FILES)
    files = [each.path for each in found.files]
    for error in report.errors:
        for frame in reversed(error.frames):
            tail = "/".join(Path(frame.path).parts[-3:])
            files += (
                [path for path in index.paths if path.endswith(tail) and path not in files][:2]
                if tail
                else []
            )
    functions = [(each.path, each.symbol.name) for each in found.functions]
    return Suspicion(files=files, functions=functions, places=_find_definitions(index, names, files))


def _find_definitions(index: Index, names: Sequence[str], files: Sequence[str]) -> dict[str, list[str]]:
    from tools.code.index.symbol_queries import find_definitions

    found: dict[str, list[str]] = {}
    for name in names:
        paths = list(dict.fromkeys(each.path for each in find_definitions(index, name)))
        paths = [path for path in paths if path.endswith(".py") and not _is_test(path)]
        paths.sort(
            key=lambda path: (files.index(path) if path in files else len(files), path.count("/"), path)
        )
        found[name] = [_to_module(path) for path in paths[:4]]
    return found


def _is_test(path: str) -> bool:
    return "test" in path


def _to_module(path: str) -> str:
    parts = list(Path(path).with_suffix("").parts)
    if parts[:1] in (["src"], ["lib"]):
        parts = parts[1:]
    return ".".join(part for part in parts if part != "__init__")
