"""Signatures of test failures, by which two runs are compared: the same test, exception type and message."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sandbox.lazy_pattern import compile_lazily


class FailureSignature(NamedTuple):
    """id: of the test; exception: its type, "" if the message names none; message: without what varies by run"""

    id: str
    exception: str
    message: str


_EXCEPTION = compile_lazily(r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*)(?::\s|:?$|\n)")
"""Type at the start of a message, `KeyError: 'a'` or `requests.exceptions.Timeout`."""

_VARYING = (
    (compile_lazily(r"\b0x[0-9a-fA-F]+\b"), "0x…"),
    (compile_lazily(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"), "…uuid…"),
    (compile_lazily(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"), "…time…"),
    (compile_lazily(r"(?:/private)?(?:/tmp|/var/folders)/[^\s'\",;:)\]]+"), "/tmp/…"),
    (compile_lazily(r"\b\d+(?:\.\d+)? ?(?:s|ms|µs|us|seconds?|milliseconds?)\b"), "…duration…"),
    (compile_lazily(r"(?<=\.py:)\d+|(?<=\bline )\d+"), "…"),
    (compile_lazily(r"\bpid[ =:]+\d+", re.IGNORECASE), "pid …"),
)
"""Parts of a message that differ from run to run: addresses, times, temporary paths, line numbers. All other
numbers are the failure itself."""


def normalize_message(message: str, root: Path) -> str:
    """Return a failure's message without what varies from run to run, and with paths relative to `root`."""
    text = message.replace(f"{root}/", "").replace(str(root), ".")
    for pattern, replacement in _VARYING:
        text = pattern.sub(replacement, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def collect_signatures(report: Mapping[str, Any], root: Path) -> set[FailureSignature]:
    """Return the signatures of a report's failures; those without a message have none."""
    return set(_iterate_signatures(report.get("failures", ()), root))


def has_complete_failures(report: Mapping[str, Any]) -> bool:
    """Return whether the report is of a run to the end, and says of each failure which test it is and why."""
    failures = report.get("failures", ())
    number = int(report.get("failed") or 0) + int(report.get("errors") or 0)
    return (
        report.get("outcome") == "failed"
        and bool(failures)
        and number <= len(failures)
        and all(each.get("id") and str(each.get("message", "")).strip() for each in failures)
    )


def _iterate_signatures(failures: Iterable[Mapping[str, Any]], root: Path) -> Iterable[FailureSignature]:
    for each in failures:
        name, message = str(each.get("id", "")), normalize_message(str(each.get("message", "")), root)
        if name and message:
            raised = _EXCEPTION.match(message)
            yield FailureSignature(id=name, exception=raised["type"] if raised else "", message=message)
