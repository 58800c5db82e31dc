"""Whether a commit runs fewer tests or checks than before: counted by the words of the languages, not by the detectors."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.lint.gaming.file_changes import FileChange

TELLING_LESS = frozenset(
    {"removed", "commented-out", "uncollected", "skipped", "lost-check", "unreached", "guarded"}
)
"""Kinds of signs that say that less is tested, and nothing of why."""

_COMMENT = re.compile(r"^\s*(?:#|//|\*|/\*).*$|/\*.*?\*/", re.MULTILINE | re.DOTALL)
_TEST = re.compile(
    r"^\s*(?:async )?def test|^\s*func (?:\(\w+ \*?\w+\) )?Test|^\s*(?:it|test|specify|should)(?:\.each\(.*?\))?[ (]"
    r"|^\s*@Test\b|^\s*test [\"']",
    re.MULTILINE,
)
_SKIP = re.compile(
    r"^\s*@\S*(?:skip|xfail|Ignore|Disabled)|\b(?:it|test|describe)\.skip\(|\bx(?:it|describe)\(|\bt\.Skip|@XFAIL"
    r"|\bskipTest\(|\bpytest\.(?:skip|xfail)\(|__test__ = False|\+build !|go:build !",
    re.MULTILINE | re.IGNORECASE,
)
_CHECK = re.compile(
    r"\bassert|\bexpect|\.should\b|\braises\(|\brequire\.|\bt\.(?:Error|Fatal)|\bwarns\(", re.IGNORECASE
)


def runs_less(files: Sequence[FileChange]) -> bool:
    """Return whether the test files together have fewer tests, more skips or fewer checks after the change..

    Tests and checks that move to another file of the change are not lost.
    """
    tests = [each for each in files if each.role == "test"]
    before = [_count(each.old) for each in tests]
    after = [_count(each.new) for each in tests]
    sums = [(sum(each[n] for each in before), sum(each[n] for each in after)) for n in range(3)]
    (tests_before, tests_after), (skips_before, skips_after), (checks_before, checks_after) = sums
    return tests_after < tests_before or skips_after > skips_before or checks_after < checks_before


def _count(text: str) -> tuple[int, int, int]:
    plain = _COMMENT.sub("", text)
    return len(_TEST.findall(plain)), len(_SKIP.findall(plain)), len(_CHECK.findall(plain))
