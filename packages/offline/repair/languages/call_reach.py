"""Localization without coverage: functions that failing tests reach by name and passing ones do not.

Ochiai (Abreu 2007) over a static call graph: a test "runs" the functions that its text names, and those they
name in turn, three calls deep. Stack frames and the names in the failing line add to the score.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from packages.offline.repair.languages.parsed_source import ParsedFile, get_text, is_test_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.code.symbols import Definition
from tools.testing.report import TestFailure

# Maximum call depth, and factor on suspiciousness for each call.
FARTHER = (1.0, 0.85, 0.7, 0.55)
# Bonus for a frame of a failure's trace in a function, and for a name in the failing line itself.
FRAME, NAMED = 0.3, 0.2
_PLACE = compile_lazily(r"([\w./-]+\.\w+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class SuspectFunction:
    """A function and its suspiciousness, from 0 to about 1.5.

    lines: those that frames of failures name
    failing, passing: number of tests of each kind that reach it
    """

    code: ParsedFile
    function: Definition
    score: float
    failing: int
    passing: int
    lines: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Test:
    """A piece of test code that runs on its own, and the names in it."""

    name: str
    path: str
    first: int
    last: int
    words: frozenset[str]


def rank_functions(
    codes: Sequence[ParsedFile], failures: Sequence[TestFailure], output: str
) -> list[SuspectFunction]:
    """Return functions that the failing tests reach, most suspicious first; all of the project if they name none."""
    places = _find_failure_places(codes, failures, output)
    tests = [each for code in codes for each in _iter_tests(code)]
    failing = [each for each in tests if _is_failing(each, failures, places)] or [
        each for each in tests if is_test_file(each.path)
    ]
    passing = [each for each in tests if each not in failing]
    named: dict[str, list[tuple[ParsedFile, Definition]]] = defaultdict(list)
    for code in codes:
        for function in code.functions:
            named[_get_simple_name(function)].append((code, function))
    calls = _CallGraph(named)
    near = [calls.find_reached(each.words) for each in failing]
    far = [calls.find_reached(each.words) for each in passing]
    at_once = _collect_failing_names(codes, places)
    found = []
    for code, function in [each for several in named.values() for each in several]:
        key = code.path, function.own_first
        ef, ep = sum(key in each for each in near), sum(key in each for each in far)
        lines = frozenset(
            line for path, line in places if path == code.path and function.own_first <= line <= function.last
        )
        if not ef and not lines:
            continue
        depth = min((each[key] for each in near if key in each), default=0)
        score = FARTHER[depth] * ef / math.sqrt(max(1, len(failing)) * max(1, ef + ep))
        score += FRAME * bool(lines) + NAMED * (_get_simple_name(function) in at_once)
        found.append(
            SuspectFunction(code=code, function=function, score=score, failing=ef, passing=ep, lines=lines)
        )
    return sorted(found, key=lambda each: (-each.score, each.code.path, each.function.own_first))


class _CallGraph:
    """Static call graph by name."""

    def __init__(self, named: Mapping[str, Sequence[tuple[ParsedFile, Definition]]]) -> None:
        self._named = named
        self._words: dict[tuple[str, int], set[str]] = {}

    def find_reached(self, words: frozenset[str]) -> dict[tuple[str, int], int]:
        """Return each function reached from these names with its minimum call depth."""
        found: dict[tuple[str, int], int] = {}
        border = set(words)
        for depth in range(len(FARTHER)):
            following: set[str] = set()
            for word in border:
                for code, function in self._named.get(word, ()):
                    key = code.path, function.own_first
                    if key not in found:
                        found[key] = depth
                        following |= self._get_called_names(code, function)
            border = following
        return found

    def _get_called_names(self, code: ParsedFile, function: Definition) -> set[str]:
        key = code.path, function.own_first
        if key not in self._words:
            self._words[key] = code.collect_names(function.own_first, function.last) - {
                _get_simple_name(function)
            }
        return self._words[key]


def _get_simple_name(function: Definition) -> str:
    return function.name.rpartition(".")[2]


def _find_failure_places(
    codes: Sequence[ParsedFile], failures: Sequence[TestFailure], output: str
) -> set[tuple[str, int]]:
    """Return files and lines that failures mention, by the end of a path where it is not given in full."""
    said = [output, *(f"{each.detail}\n{each.message}" for each in failures)]
    found = {(each.file, each.line) for each in failures if each.file and each.line}
    for path, line in _PLACE.findall("\n".join(said)):
        ends = [c.path for c in codes if c.path == path or path.endswith("/" + c.path)]
        ends = ends or [c.path for c in codes if c.path.endswith("/" + path.removeprefix("./"))]
        if len(ends) == 1:
            found.add((ends[0], int(line)))
    return found


def _iter_tests(code: ParsedFile) -> Iterator[_Test]:
    """Yield test functions, calls such as `test("adds", () => …)`, and the rest of a test file as one piece."""
    taken: list[tuple[int, int]] = []
    for each in code.definitions:
        if code.is_test(each):
            taken.append((each.own_first, each.last))
            yield _build_test(code, each.name, each.own_first, each.last)
    if not is_test_file(code.path):
        return
    for node in code.iter_nodes(1, code.text.count("\n") + 1):
        if node.type != "call_expression":
            continue
        given = node.child_by_field_name("arguments")
        first = given.named_children[0] if given is not None and given.named_children else None
        called = get_text(node.child_by_field_name("function") or node)
        if first is None or "string" not in first.type or not re.match(r"(it|test|specify)\b", called):
            continue
        start, end = node.start_point[0] + 1, node.end_point[0] + 1
        taken.append((start, end))
        yield _build_test(code, get_text(first).strip("\"'`"), start, end)
    if not taken:
        yield _build_test(code, code.path, 1, code.text.count("\n") + 1)


def _build_test(code: ParsedFile, name: str, first: int, last: int) -> _Test:
    return _Test(
        name=name, path=code.path, first=first, last=last, words=frozenset(code.collect_names(first, last))
    )


def _is_failing(test: _Test, failures: Sequence[TestFailure], places: set[tuple[str, int]]) -> bool:
    simple = test.name.rpartition(".")[2]
    by_name = any(re.search(rf"(^|\W){re.escape(simple)}(\W|$)", each.id) for each in failures)
    return by_name or any(path == test.path and test.first <= line <= test.last for path, line in places)


def _collect_failing_names(codes: Sequence[ParsedFile], places: set[tuple[str, int]]) -> set[str]:
    """Return the names in the lines of tests at which they failed."""
    known = {code.path: code for code in codes}
    found: set[str] = set()
    for path, line in places:
        if path in known and is_test_file(path):
            found |= known[path].collect_names(line, line)
    return found
