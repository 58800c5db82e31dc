"""The signs of dishonest changes: their kinds, and how one becomes a finding."""

from __future__ import annotations

from typing import Literal

from tools.lint.checks.finding import Finding

LONGEST_TEXT = 70
"""Characters of source that are shown."""

Kind = Literal[
    "removed", "commented-out", "uncollected", "skipped",  # a test is gone, is no code any more, not found, not run
    "tautology", "loosened", "expected-value", "lost-check",  # a check always holds, accepts more, differs, is gone
    "unreached", "swallowed", "guarded",  # checks are never reached, are caught, run only under a new condition
    "mocked", "detached",  # what is tested is replaced in the test, or no longer called by it
    "expected-data",  # stored expected output is edited
    "special-case", "hard-coded", "test-detection", "caught-failure", "equals-all",  # the product deceives the tests
    "exit", "runner", "selection", "threshold", "ci",  # failures do not reach whoever runs the tests
    "lint-off", "timeout", "retry", "sleep",  # a rule is off, a limit raised, a repetition or a wait added
]  # fmt: skip

NOTICES: frozenset[Kind] = frozenset(("timeout", "retry", "sleep", "lint-off"))
"""Kinds that are only told by nature: most are honest, none hides a failure for certain."""


def make_sign(
    kind: Kind, path: str, line: int, message: str, source: str | None = None, *, fails: bool
) -> Finding:
    """Return a finding: an error changes the outcome of a turn, a warning is only told. source: shown after it"""
    if source is not None:
        message = f"{message}: {quote_source(source)}"
    severity: Literal["error", "warning"] = "error" if fails and kind not in NOTICES else "warning"
    return Finding(check=kind, path=path, line=line, message=message, severity=severity)


def quote_source(text: str) -> str:
    """Return a line of source, shortened, in back quotes."""
    text = " ".join(text.split())
    return f"`{text[:LONGEST_TEXT]} …`" if len(text) > LONGEST_TEXT else f"`{text}`"
