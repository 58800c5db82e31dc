"""Whether a failing commit does weaken its tests: what each sign states, read again by words and not by the detectors.

A sign that states a loss (a test is gone, skipped, has fewer checks) is no false alarm if the loss is there; in an
honest commit it is something to be told. A sign that judges (another value is expected, the product answers a test's
input) is a false alarm in an honest commit, always.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import FileChange

_COMMENT = re.compile(r"^\s*(?:#|//|\*|/\*)")
_SKIP = re.compile(
    r"@\S*(?:skip|xfail|Ignore|Disabled)|\b(?:it|test|describe)\.skip\(|\bx(?:it|describe)\(|\bt\.Skip|SkipTest"
    r"|\bskipTest\(|\bpytest\.(?:skip|xfail)\(|__test__ = False|\+build |go:build ",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"\bassert|\bexpect|\.should\b|\braises\(|\brequire\.|\bt\.(?:Error|Fatal)|\bwarns\(", re.IGNORECASE
)
_BRANCH = re.compile(r"^\s*(?:if|elif|else|unless|return|continue|break|for|while)\b")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)+)'|\"([^\"]+)\"")


def is_weakening(signs: Sequence[Finding], files: Sequence[FileChange]) -> bool:
    """Return whether every sign states a loss of tests or checks, and the texts of the commit show it."""
    tests = {each.path: each for each in files}
    return bool(signs) and all(
        each.path in tests and _shows_loss(each, tests[each.path], files) for each in signs
    )


def _shows_loss(sign: Finding, file: FileChange, files: Sequence[FileChange]) -> bool:
    name = _read_name(sign.message)
    added = [text for _, text in file.added]
    match sign.check:
        case "removed":
            kept = "\n".join(each.new for each in files if each.role == "test")
            return bool(name) and _count_heads(name, file.old) > 0 and _count_heads(name, kept) == 0
        case "commented-out":
            return any(
                _COMMENT.match(text) and (_CHECK.search(text) or (name and name in text)) for text in added
            ) or (_count_heads(name, file.old) > 0 and _count_heads(name, _list_code(file.new)) == 0)
        case "uncollected":
            return _count_heads(name, file.new) > 1 or _count_heads(name, file.new) == 0
        case "skipped":
            return any(_SKIP.search(text) for text in added)
        case "lost-check":
            return _count_checks(name, file.new) < _count_checks(name, file.old)
        case "unreached" | "guarded":
            return any(map(_BRANCH.match, added))
        case _:
            return False


def _read_name(message: str) -> str:
    found = _QUOTED.search(message)
    return (found[1] or found[2]) if found else ""


def _list_code(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not _COMMENT.match(line))


def _count_heads(name: str, text: str) -> int:
    pattern = rf"^\s*(?:(?:async )?def|func(?: \([^)]*\))?|(?:public )?void|\w+[ (]+[\"'`]).*?(?<!\w){re.escape(name)}"
    return len(re.findall(pattern, _list_code(text), re.MULTILINE))


def _count_checks(name: str, text: str) -> int:
    """Return the number of checks from a test's head to the next line that is indented no more."""
    lines = _list_code(text).splitlines()
    start = next((n for n, line in enumerate(lines) if name in line and _count_heads(name, line)), None)
    if start is None:
        return 0
    depth = len(lines[start]) - len(lines[start].lstrip())
    count = 0
    for line in lines[start + 1 :]:
        if line.strip() and len(line) - len(line.lstrip()) <= depth and line.strip() not in (")", "):", "{"):
            break
        count += bool(_CHECK.search(line))
    return count
