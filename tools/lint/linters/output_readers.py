"""What linters print, read as complaints: lines of text, JSON, or the file as a formatter would have it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sandbox.fs.line_diff import compute_opcodes

SHOWN = 100
"""Characters of the line that a formatter wants."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """One finding. line: counted from 1; severity: "warning" where the linter itself would let it pass"""

    line: int
    code: str
    message: str
    severity: Literal["error", "warning"] = "error"


Reader = Callable[[str, str], list[Complaint]]
"""(what the linter was given, what it printed) → findings."""


def make_line_reader(pattern: str) -> Reader:
    """A finding a line, with the groups line, code and message; a group `warning` that matched is one."""

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
    """eslint's JSON (docs/use/formatters): severity 1 is a warning; without a rule it is about eslint itself."""
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
    except (ValueError, TypeError, KeyError):  # not its format: a crash, most likely
        return []


def read_formatted(text: str, output: str) -> list[Complaint]:
    """A complaint at each line that the formatter would write otherwise; nothing where it printed nothing."""
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
