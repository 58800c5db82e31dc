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

_FINGERPRINT = "patchwrightFinding/v1"


def build_sarif(findings: Sequence[Finding], properties: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return findings as a SARIF log with one run. properties: texts about the run as a whole"""
    rules = list(dict.fromkeys(each.check for each in findings))
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "Patchwright",
                "version": VERSION,
                "rules": [{"id": each, "name": each} for each in rules],
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
