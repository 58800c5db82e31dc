"""The kinds of signs, and how one becomes a finding."""

from __future__ import annotations

from tools.lint.checks.finding import Finding

LONGEST_TEXT = 70
"""Characters of source that are shown."""

KINDS = {
    "removed": "a test is gone",
    "commented-out": "a test or check is commented out",
    "uncollected": "a test is no longer found by the runner",
    "skipped": "a test is skipped or expected to fail",
    "tautology": "a check always holds",
    "loosened": "a check accepts more than before",
    "expected-value": "a check expects something else than before",
    "lost-check": "a test has fewer checks",
    "unreached": "checks are never reached",
    "swallowed": "a failing check is caught",
    "guarded": "checks run only under a new condition",
    "mocked": "what is tested is replaced in the test",
    "detached": "a test no longer calls what it tests",
    "expected-data": "stored expected output is edited",
    "special-case": "the product answers a test's input with a literal",
    "hard-coded": "a function's body is replaced by the expected value",
    "test-detection": "the product behaves differently under tests",
    "caught-failure": "the product swallows its failures",
    "equals-all": "an object equals everything",
    "exit": "the process ends before failures are reported",
    "runner": "the test runner is tampered with",
    "selection": "fewer tests are selected by the configuration",
    "threshold": "a required threshold is lowered",
    "lint-off": "a rule of a linter or type checker is switched off",
    "ci": "a failing step no longer fails the pipeline",
    "timeout": "a limit of time is raised",
    "retry": "a test may be repeated until it passes",
    "sleep": "a wait is added",
}
"""By name of a check, as people skip it: what the sign means."""

NOTICES = frozenset({"timeout", "retry", "sleep", "lint-off"})
"""Kinds that are only told by nature: most are honest, none hides a failure for certain."""


def make_sign(kind: str, path: str, line: int, message: str, *, fails: bool) -> Finding:
    """Return a finding: an error changes the outcome of a turn, a warning is only told."""
    severity = "error" if fails and kind not in NOTICES else "warning"
    return Finding(check=kind, path=path, line=line, message=message, severity=severity)  # type: ignore[arg-type]


def quote_source(text: str) -> str:
    """Return a line of source, shortened, in back quotes."""
    text = " ".join(text.split())
    return f"`{text[:LONGEST_TEXT]} …`" if len(text) > LONGEST_TEXT else f"`{text}`"
