"""Evidence of failing tests before any change is tried: groups with one fault, and names in their messages."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.templates import Hints
from sandbox.lazy_pattern import compile_lazily

# Failing tests that share this much of their coverage count as symptoms of one fault.
SAME_FAULT = 0.5
# Number of passing tests that must run a statement, for its failing one to be doubted.
ENOUGH_PASSING = 3
# More failing tests than this add nothing about one fault.
MOST_WANTED = 40


def group_by_fault(failing: Sequence[Test]) -> Iterator[list[Test]]:
    """Yield failing tests by likely fault: groups of similar coverage, the test that runs least first."""
    rest = sorted(failing, key=lambda test: (test.is_endless, test.slowness, _count_lines(test), test.index))
    while rest:
        first = rest[0]
        alike = [test for test in rest if test is first or measure_test_similarity(first, test) >= SAME_FAULT]
        # The one that runs least is judged first; after it the quick ones, so that a wrong patch is rejected
        # early.
        yield alike[:MOST_WANTED]
        rest = [test for test in rest if test not in alike]


def extract_hints(failing: Sequence[Test]) -> Hints:
    """Return names, attributes and exceptions in the messages of failures."""
    texts = [f"{test.error}: {test.message}" for test in failing]
    names = {name for text in texts for name in re.findall(r"name '(\w+)' is not defined", text)}
    names |= {name for text in texts for name in re.findall(r"cannot import name '(\w+)'", text)}
    modules = {name for text in texts for name in re.findall(r"No module named '([\w.]+)'", text)}
    attributes = {name for text in texts for name in re.findall(r"has no attribute '(\w+)'", text)}
    lacking = {
        pair for text in texts for pair in re.findall(r"'([\w.]+)' object has no attribute '(\w+)'", text)
    }
    errors = {name for text in texts for name in re.findall(r"\b([A-Z]\w*(?:Error|Exception))\b", text)}
    unraised = {name for text in texts for pattern in _UNRAISED for name in pattern.findall(text)}
    return Hints(
        missing_names=frozenset(names),
        missing_attributes=frozenset(attributes),
        missing_modules=frozenset(modules),
        errors=frozenset(errors - unraised - {"AssertionError"}),
        texts=tuple(dict.fromkeys(pair for test in failing for pair in _iter_compared_texts(test))),
        missing_members=frozenset(lacking),
    )


# Wordings of pytest, older and newer, and of unittest.
_UNRAISED = (
    compile_lazily(r"DID NOT RAISE (?:any of )?\(?<class '(?:[\w.]*\.)?(\w+)'>"),
    compile_lazily(r"DID NOT RAISE (?:any of )?\(?(\w+)"),
    compile_lazily(r"^AssertionError: (?:[\w.]*\.)?(\w+) not raised"),
)


def find_doubtful_tests(failing: Sequence[Test], spectrum: Spectrum) -> list[Test]:
    """Return failing tests whose own assertion is the only evidence: enough passing tests run all that they run.

    Their expectation may be wrong as well as the tested code; coverage cannot distinguish the two, but a
    fault that these passing tests do not notice is rare.
    """
    counts: Counter[tuple[str, int]] = Counter()
    for test in spectrum.select_tests("passed"):
        counts.update(_collect_lines(test))
    return [
        test
        for test in failing
        if test.error == "AssertionError"
        and not [frame for frame in test.frames if frame.path != test.file]
        and _collect_lines(test)
        and all(counts[place] >= ENOUGH_PASSING for place in _collect_lines(test))
    ]


def _iter_compared_texts(test: Test) -> Iterator[tuple[str, str]]:
    """Yield texts that an assertion compared, in both orders: which one is expected is a matter of convention."""
    for one, other in test.texts:
        yield one, other
        yield other, one
    message = test.message
    for pattern in _COMPARISONS:
        for match in pattern.finditer(message):
            one, other = (_unquote(each) for each in match.groups())
            if one != other:
                yield one, other
                yield other, one


# Messages of unittest, of pytest's rewritten assertions (their first line, and their lines of differences)
# and of pytest.raises(match=…).
_STRING = r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
_COMPARISONS = (
    compile_lazily(_STRING + r" (?:==|!=|in|not found in) " + _STRING),
    compile_lazily(r"^ *- (.+)\n(?: *\?.*\n)? *\+ (.+)$", re.MULTILINE),
    compile_lazily(r"Regex: (.+)\n *Input: (.+)"),
    compile_lazily(r"Expected regex: (.+)\n *Actual message: (.+)"),  # since pytest 8.4
)


def _unquote(text: str) -> str:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):  # a line of differences, which is not quoted
        return text
    return value if isinstance(value, str) else text


def measure_test_similarity(one: Test, other: Test) -> float:
    """Return the Jaccard similarity of the project's lines that two tests run; 1 if there are none."""
    common = together = 0
    for path in one.lines.keys() | other.lines.keys():
        first = one.lines.get(path, frozenset()) if path != one.file else frozenset()
        second = other.lines.get(path, frozenset()) if path != other.file else frozenset()
        shared = len(first & second)
        common += shared
        together += len(first) + len(second) - shared
    return common / together if together else 1.0


def _collect_lines(test: Test) -> frozenset[tuple[str, int]]:
    return frozenset(
        (path, line) for path, lines in test.lines.items() if path != test.file for line in lines
    )


def _count_lines(test: Test) -> int:
    return sum(len(lines) for path, lines in test.lines.items() if path != test.file)
