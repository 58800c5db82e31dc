"""Findings as SARIF 2.1.0 (OASIS), which code hosts and editors show at the lines that they are about."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from patchwright.version import VERSION

if TYPE_CHECKING:
    from tools.lint.checks.finding import Finding

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_ROOT = "%SRCROOT%"
"""Base of all paths: the top of the repository."""

_RULES: Mapping[str, str] = {
    "conflicts": "Conflict markers of a merge that belong together.",
    "secrets": "A key, a token or a password in a new line.",
    "syntax": "A new line that the language's compiler or grammar does not accept.",
    "leftovers": "A call that stops in a debugger, or a test that leaves all others out.",
    "sizes": "A file that grows beyond the size that the repository accepts.",
    "linters": "A complaint of the project's own linter or formatter about a new line.",
    "weakened": "A test that proves less than before, or code that only satisfies its tests.",
}
"""What each check finds."""

_FINGERPRINT = "patchwrightFinding/v1"


def build_sarif(findings: Sequence[Finding], properties: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return findings as a SARIF log with one run. properties: texts about the run as a whole"""
    rules = list(dict.fromkeys(each.check for each in findings))
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "Patchwright",
                "version": VERSION,
                "rules": [_describe_rule(each) for each in rules],
            }
        },
        "invocations": [{"executionSuccessful": True}],
        "columnKind": "unicodeCodePoints",
        "results": [_build_result(each, rules.index(each.check)) for each in findings],
    }
    told = {name: text for name, text in (properties or {}).items() if text}
    if told:
        run["properties"] = told
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _describe_rule(check: str) -> dict[str, Any]:
    """Return a rule with the texts that GitHub shows: it takes in no log whose rules lack them."""
    about = _RULES.get(check, "A finding of Patchwright.")
    skipping = f"`PATCHWRIGHT_SKIP={check}` leaves the check out of a commit."
    return {
        "id": check,
        "name": check,
        "shortDescription": {"text": about},
        "fullDescription": {"text": about},
        "help": {"text": f"{about} {skipping}", "markdown": f"{about} {skipping}"},
        "defaultConfiguration": {"level": "warning" if check == "weakened" else "error"},
    }


def _build_result(finding: Finding, rule: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(finding.path), "uriBaseId": _ROOT}}
    if finding.line:
        place["region"] = {"startLine": finding.line}
    known = "\0".join((finding.check, finding.path, finding.message))
    return {
        "ruleId": finding.check,
        "ruleIndex": rule,
        "level": finding.severity,
        "message": {"text": finding.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {
            _FINGERPRINT: hashlib.sha256(known.encode("utf-8", "replace")).hexdigest()[:32]
        },
    }
