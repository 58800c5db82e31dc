"""Tests that a change deletes or weakens: a warning, since the user may intend it and should know."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tools.git.git_change import Change, File
from tools.lint.checks.assertions import demands_less, find_changed_checks
from tools.lint.checks.finding import Finding

_TEST_FILE = re.compile(
    r"(?:^|/)(?:test_[^/]*|[^/]*_test|[^/]*_spec|[^/]*[.-](?:test|spec)|[^/]*Tests?)\.[a-zA-Z]+$"
    r"|(?:^|/)tests\.py$|(?:^|/)__tests__/"
)

_TESTS = re.compile(
    r"""^\s*(?:async\s+)?def\s+(?P<python>test\w*)
    |^\s*(?:it|test)(?:\.\w+)?\(\s*(?P<quote>["'`])(?P<script>.+?)(?P=quote)
    |^func\s+(?P<go>Test\w+)\(
    |@Test\b[^\n]*\n(?:\s*@[^\n]*\n)*[^\n(]*?\b(?P<java>\w+)\s*\(
    |\#\[(?:\w+::)?test\][^\n]*\n(?:\s*\#\[[^\n]*\n)*\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<rust>\w+)""",
    re.VERBOSE | re.MULTILINE,
)

_SKIPPED = re.compile(
    r"@(?:pytest\.mark\.|unittest\.)?(?:skip|skipif|xfail|expectedFailure)\b|\bpytest\.(?:skip|xfail)\("
    r"|\.skipTest\(|\b(?:it|test|describe|context)\.skip\(|^\s*x(?:it|describe|test)\(|\bt\.Skip(?:f|Now)?\("
    r"|#\[ignore|@(?:Disabled|Ignore)\b"
)

_ASSERTS = re.compile(
    r"^\s*(?:assert\b|self\.(?:assert|fail)\w*\(|(?:await\s+)?expect\(|t\.(?:Error|Fatal)f?\(|(?:debug_)?assert\w*!\("
    r"|(?:Assertions?\.)?assert\w+\(|require\.\w+\(|with\s+(?:pytest\.raises|self\.assertRaises))"
)

_EMPTY = re.compile(r"^\s*assert\s+True\b|^\s*expect\(true\)\.to(?:Be|Equal)\(true\)|assertTrue\(True\)")


def is_test_file(path: str) -> bool:
    """Return whether files of this name contain tests."""
    return bool(_TEST_FILE.search(path))


def find_test_names(text: str) -> list[str]:
    """Return the names of the tests that a file defines."""
    return [
        next(filter(None, match.group("python", "script", "go", "java", "rust")))
        for match in _TESTS.finditer(text)
    ]


def check(change: Change) -> Iterator[Finding]:
    """Yield tests that were deleted, skipped, or have lost checks. A moved test is not deleted."""
    tests = [each for each in change.files if is_test_file(each.path)]
    kept = (
        {name for each in tests for name in find_test_names(change.read_text(each.new))} if tests else set()
    )
    for file in tests:
        before = find_test_names(change.read_text(file.old))
        gone = [name for name in dict.fromkeys(before) if name not in kept]
        if not file.new:
            if gone:
                yield _make_warning(file, 0, f"the file and its {len(before)} tests are deleted")
            continue
        for name in gone:
            yield _make_warning(file, 0, f"the test {name!r} is gone")
        yield from _check_lines(file, whole=not gone)
        yield from _report_changed_checks(change, file)


def _check_lines(file: File, *, whole: bool) -> Iterator[Finding]:
    """whole: no test of the file was deleted, so that a missing check is not reported twice"""
    for line, text in file.iterate_added_lines():
        if match := _SKIPPED.search(text):
            yield _make_warning(file, line, f"a test is skipped: {match[0].strip()}")
        elif match := _EMPTY.search(text):
            yield _make_warning(file, line, f"a check that always holds: {match[0].strip()}")
    lost = sum(bool(_ASSERTS.match(text)) for text in file.iterate_removed_lines())
    won = sum(bool(_ASSERTS.match(text)) for _, text in file.iterate_added_lines())
    if whole and lost > won:
        yield _make_warning(file, file.hunks[0].line, f"{lost - won} fewer checks than before")


def _report_changed_checks(change: Change, file: File) -> Iterator[Finding]:
    """Yield checks that were changed: of Python by its syntax, of other languages by lines."""
    if file.path.endswith(".py"):
        pairs = find_changed_checks(change.read_text(file.old), change.read_text(file.new))
        if pairs is not None:
            for old, new in pairs:
                yield _make_warning(file, new.line, _describe_changed_check(old.text, new.text))
            return
    for hunk in file.hunks:
        added = [text for text in hunk.added if _ASSERTS.match(text)]
        for removed in filter(_ASSERTS.match, hunk.removed):
            if added and demands_less(removed, added):
                yield _make_warning(
                    file, hunk.line, _describe_changed_check(removed.strip(), added[0].strip())
                )


def _describe_changed_check(old: str, new: str) -> str:
    return f"a check was changed: {_shorten_line(old)} to {_shorten_line(new)}"


def _shorten_line(line: str) -> str:
    return f"`{line[:LONGEST_LINE]} …`" if len(line) > LONGEST_LINE else f"`{line}`"


LONGEST_LINE = 70
"""Characters of a check that are shown."""


def _make_warning(file: File, line: int, message: str) -> Finding:
    name = PurePosixPath(file.path).as_posix()
    return Finding(check="weakened", path=name, line=line, message=message, severity="warning")
