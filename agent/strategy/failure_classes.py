"""Classes of failed attempts, found from what ran, and the remedy of each.

Progressive verification (CVE2PoC): parses, imports, reaches the right place, behaves, leaves the rest alone. The class
decides how work goes on, so that nobody mends a line of a change that is in the wrong place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from agent.exit_codes import Exit
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import join_names
from tools.testing.failure_signature import FailureSignature, collect_signatures
from tools.testing.run_comparison import describe_loss

FailureClass = Literal[
    "does not parse",
    "does not import",
    "wrong place",
    "wrong behaviour",
    "broke others",
    "wrong approach",
    "environment",
    "cut off",
]

Remedy = Literal["mend", "replan", "restart", "fix the environment", "ask"]
"""mend: go on from the change. replan: begin anew, at another place. restart: begin anew, with a written guidance.

fix the environment: the same change again, with what is missing. ask: a person has to decide.
"""

REMEDIES: Mapping[FailureClass, Remedy] = {
    "does not parse": "mend",
    "does not import": "mend",
    "wrong behaviour": "mend",
    "broke others": "mend",
    "wrong place": "replan",
    "wrong approach": "restart",
    "environment": "fix the environment",
    "cut off": "restart",
}

_OBSTACLES = (
    Exit.DENIED,
    Exit.NO_TEST_RUNNER,
    Exit.STORAGE_FULL,
    Exit.READ_ONLY,
    Exit.CONFIGURATION,
    Exit.CREDENTIALS,
    Exit.MODEL_UNREACHABLE,
    Exit.NOT_A_REPOSITORY,
)
"""Ends of an attempt that say nothing about its change."""

_PERSONAL = (Exit.DENIED, Exit.CREDENTIALS, Exit.STORAGE_FULL, Exit.READ_ONLY)
"""Obstacles that only a person can remove."""

_CUT_OFF = (Exit.LIMIT, Exit.INTERRUPTED, Exit.INTERNAL)
"""Ends of an attempt before it was done: where no test ran, nothing is known of its change."""

_PARSE = compile_lazily(
    r"\b(?:SyntaxError|IndentationError|TabError|ParseError|ParserError)\b"
    r"|Unexpected token|unexpected (?:end of file|EOF)|error: (?:expected|unterminated)|\bexpected ';'"
)
_IMPORT = compile_lazily(
    r"\b(?:ImportError|ModuleNotFoundError)\b|Cannot find module|cannot find package|unresolved import"
)
_MISSING = compile_lazily(r"No module named '([^'.]+)")

MOST_NAMED, MOST_TESTS = 3, 20
"""Failing tests that its line names, and that a failure keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureEvidence:
    """What is known of a failed attempt.

    report: last run of the suite with its change, as in `Verification.report`; before: the same without the change
    files: that it changed; modules: names of the project's own modules and packages at its root
    known: signatures of the failures of earlier attempts of the same line of work
    objection: why its tests prove nothing, "" if they do
    """

    exit_code: int
    report: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    files: Sequence[str] = ()
    modules: Collection[str] = ()
    known: Sequence[frozenset[FailureSignature]] = ()
    root: Path = Path("/")
    objection: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why an attempt failed, and how to go on.

    evidence: one line for a person; signatures: of its failing tests; tests: their ids, those that it broke first
    """

    kind: FailureClass
    remedy: Remedy
    evidence: str
    signatures: frozenset[FailureSignature] = frozenset()
    tests: Sequence[str] = ()


def classify_failure(found: FailureEvidence) -> Failure:
    """Return the class of a failed attempt. A stage is asked only if the ones before it were passed."""
    runs = _Runs(
        now=frozenset(collect_signatures(found.report, found.root)),
        old=frozenset(collect_signatures(found.before, found.root)),
        has_before=bool(found.before),
    )
    for kind, find_evidence in _STAGES:
        if line := find_evidence(found, runs):
            remedy = REMEDIES[kind]
            if kind == "environment" and found.exit_code in _PERSONAL:
                remedy = "ask"
            tests = dict.fromkeys([*runs.broken, *sorted({each.id for each in runs.now})])
            return Failure(
                kind=kind, remedy=remedy, evidence=line, signatures=runs.now, tests=tuple(tests)[:MOST_TESTS]
            )
    return Failure(kind="wrong behaviour", remedy="mend", evidence="the tests fail", signatures=runs.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Runs:
    """Signatures of the failures with a change and without it."""

    now: frozenset[FailureSignature]
    old: frozenset[FailureSignature]
    has_before: bool

    @property
    def fresh(self) -> frozenset[FailureSignature]:
        return self.now - self.old

    @property
    def broken(self) -> list[str]:
        """Tests that fail, and did not before."""
        return (
            sorted({each.id for each in self.now} - {each.id for each in self.old}) if self.has_before else []
        )


def _find_obstacle(found: FailureEvidence, runs: _Runs) -> str:
    if found.exit_code in _OBSTACLES:
        return f"the attempt ended as {Exit(found.exit_code).label}"
    if found.report.get("outcome") == "no-runner":
        return "no test runner was found"
    if found.report.get("outcome") == found.before.get("outcome") == "timeout":
        return "the tests take too long, with and without the change"
    for each in _list_texts(runs.fresh):
        if (missing := _MISSING.search(each)) and missing[1] not in found.modules:
            return f"the package {missing[1]!r} is not installed"
    return ""


def _find_cut(found: FailureEvidence, runs: _Runs) -> str:
    cut = found.exit_code in _CUT_OFF and not found.report
    return f"the attempt ended as {Exit(found.exit_code).label}" if cut else ""


def _find_no_change(found: FailureEvidence, runs: _Runs) -> str:
    return "" if found.files or found.report else "it changed no file"


def _find_objection(found: FailureEvidence, runs: _Runs) -> str:
    return found.objection


def _find_lost_tests(found: FailureEvidence, runs: _Runs) -> str:
    return describe_loss(found.before, found.report) if found.before and found.report else ""


def _find_parse_error(found: FailureEvidence, runs: _Runs) -> str:
    return _find_text(runs, _PARSE)


def _find_import_error(found: FailureEvidence, runs: _Runs) -> str:
    if line := _find_text(runs, _IMPORT):
        return line
    if found.report.get("outcome") == "broken" and found.before.get("outcome") != "broken":
        return next(iter(_list_texts(runs.fresh)), str(found.report.get("note", "")))
    return ""


def _find_repeat(found: FailureEvidence, runs: _Runs) -> str:
    if runs.now and runs.now in found.known:
        return f"{_name_tests(runs.now)} failed in the same way after another change"
    return ""


def _find_unmoved(found: FailureEvidence, runs: _Runs) -> str:
    if runs.old and runs.old <= runs.now and not runs.fresh:
        return f"{_name_tests(runs.old)} failed in the same way before the change"
    return ""


def _find_broken(found: FailureEvidence, runs: _Runs) -> str:
    return f"{join_names(runs.broken, MOST_NAMED)} passed before the change" if runs.broken else ""


def _find_misbehaviour(found: FailureEvidence, runs: _Runs) -> str:
    message = next(iter(_list_texts(runs.now)), "")
    return message or str(found.report.get("note", ""))


_STAGES: Sequence[tuple[FailureClass, Callable[[FailureEvidence, _Runs], str]]] = (
    ("environment", _find_obstacle),
    ("cut off", _find_cut),
    ("wrong approach", _find_no_change),
    ("wrong approach", _find_objection),
    ("does not parse", _find_parse_error),
    ("does not import", _find_import_error),
    ("wrong approach", _find_repeat),
    ("wrong place", _find_unmoved),
    ("broke others", _find_broken),
    ("broke others", _find_lost_tests),
    ("wrong behaviour", _find_misbehaviour),
)
"""What each class is seen by, in the order in which a change meets it."""


def _list_texts(signatures: Collection[FailureSignature]) -> list[str]:
    """Return the first lines of the messages of failures with these signatures, with the tests' ids."""
    return [f"{each.id}: {each.message.splitlines()[0]}" for each in sorted(signatures)]


def _find_text(runs: _Runs, pattern: re.Pattern[str]) -> str:
    return next((each for each in _list_texts(runs.fresh) if pattern.search(each)), "")


def _name_tests(signatures: Collection[FailureSignature]) -> str:
    return join_names(sorted({each.id for each in signatures}), MOST_NAMED)
