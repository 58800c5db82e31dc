"""Tests that assert what the prompt denies, each with the assertion as the prompt tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from packages.search.spec_check.asserted_results import AssertedResult, find_asserted_results
from packages.search.spec_check.finding import Correction, SpecFinding
from packages.search.spec_check.told_results import ToldResult
from tools.code.code_tool import query_index
from tools.code.index.symbol_queries import is_test
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.code.index.code_index import Index

MOST_FILES = 200
"""Test files that name one of the told functions and are read."""


def read_test_files(at: Workspace, names: Sequence[str]) -> dict[str, str]:
    """Return the Python test files that use one of these names, by path. Raises UserError."""
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b")

    def read(index: Index) -> dict[str, str]:
        found: dict[str, str] = {}
        for path in index.code:
            if path.endswith(".py") and is_test(path) and len(found) < MOST_FILES:
                text = index.read_source(path)
                if pattern.search(text):
                    found[path] = text
        return found

    return query_index(at, read) if names else {}


def find_test_contradictions(told: Sequence[ToldResult], files: Mapping[str, str]) -> Iterator[SpecFinding]:
    """Yield a finding for each assertion whose value is not the told one; of calls with one told result only."""
    by_call: dict[tuple[str, str], list[ToldResult]] = {}
    for each in told:
        by_call.setdefault((each.name, each.arguments), []).append(each)
    for path, text in files.items():
        for asserted in find_asserted_results(text):
            match by_call.get((asserted.name, asserted.arguments)):
                case [wanted] if not _agree(wanted, asserted):
                    yield _build_finding(path, text, asserted, wanted)


def find_double_results(told: Sequence[ToldResult]) -> Iterator[SpecFinding]:
    """Yield a finding for each call for which the prompt tells two results."""
    first: dict[tuple[str, str], ToldResult] = {}
    for each in told:
        known = first.setdefault((each.name, each.arguments), each)
        if (known.value, known.error) != (each.value, each.error):
            text = f"the prompt tells two results for {each.call}: {_describe(known)} and {_describe(each)}"
            yield SpecFinding(kind="contradiction", text=text, places=(known.sentence, each.sentence))


def _agree(wanted: ToldResult, asserted: AssertedResult) -> bool:
    if wanted.error or asserted.error:
        return wanted.error == asserted.error or bool(
            asserted.error and wanted.error and _may_be_base(asserted)
        )
    try:  # 5 == 5.0, though they are written differently
        return float(wanted.value) == float(asserted.value)
    except ValueError:
        return wanted.value == asserted.value


def _may_be_base(asserted: AssertedResult) -> bool:
    return asserted.error in (
        "Exception",
        "BaseException",
        "LookupError",
        "ArithmeticError",
        "OSError",
        "ValueError",
    )


def _describe(result: ToldResult | AssertedResult) -> str:
    return f"{result.error} is raised" if result.error else result.value


def _build_finding(path: str, text: str, asserted: AssertedResult, wanted: ToldResult) -> SpecFinding:
    said = (
        f"{path}:{asserted.line} asserts {_describe(asserted)} for {wanted.call}, "
        f"the prompt says {_describe(wanted)}"
    )
    corrections: tuple[Correction, ...] = ()
    if asserted.column >= 0 and wanted.value:
        lines = text.split("\n")
        line = lines[asserted.line - 1].encode()
        lines[asserted.line - 1] = (
            line[: asserted.column] + wanted.value.encode() + line[asserted.end :]
        ).decode()
        corrections = (Correction(path=path, before=text, after="\n".join(lines)),)
    return SpecFinding(
        kind="contradiction",
        text=said,
        places=(f"{path}:{asserted.line}", wanted.sentence),
        corrections=corrections,
    )
