"""Readers of linter output into complaints: lines of text, JSON, or the formatted file."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from sandbox.fs.line_diff import compute_opcodes
from sandbox.lazy_dataclass import dataclass

SHOWN = 100
"""Characters of the formatter's line that are shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One finding. line: from 1; severity: "warning" if the linter itself does not fail on it"""

    line: int
    code: str
    message: str
    severity: Literal["error", "warning"] = "error"


Reader = Callable[[str, str], list[Complaint]]
"""(text given to the linter, its output) → findings."""


def make_line_reader(pattern: str) -> Reader:
    """Return a reader of one finding per line, with the groups line, code, message, and optionally `warning`."""

    def read(text: str, output: str) -> list[Complaint]:
        matches = (match for line in output.splitlines() if (match := re.fullmatch(pattern, line)))
        return [
            Complaint(
                line=int(match["line"]),
                code=match["code"],
                message=match["message"].strip(),
                severity="warning" if match.groupdict().get("warning") else "error",
            )
            for match in matches
        ]

    return read


def read_eslint(text: str, output: str) -> list[Complaint]:
    """Read eslint's JSON (docs/use/formatters): severity 1 is a warning; without a rule it is about eslint itself."""
    import json

    try:
        found = [each for file in json.loads(output) for each in file["messages"] if each.get("ruleId")]
        return [
            Complaint(
                line=int(each.get("line") or 0),
                code=str(each["ruleId"]),
                message=str(each["message"]),
                severity="warning" if each["severity"] == 1 else "error",
            )
            for each in found
        ]
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):  # not its format
        return []


def read_formatted(text: str, output: str) -> list[Complaint]:
    """Return a complaint at each line that the formatter would change; empty if it printed nothing."""
    if not output or text == output:
        return []
    old, new = text.splitlines(), output.splitlines()
    found = []
    for tag, first, last, start, end in compute_opcodes(old, new):
        if tag == "equal":
            continue
        wanted = next(filter(None, map(str.strip, new[start:end])), "")[:SHOWN]
        message = f"would be formatted: {wanted}" if wanted else "would be formatted"
        found += [
            Complaint(line=line + 1, code="", message=message) for line in range(first, max(last, first + 1))
        ]
    return found
