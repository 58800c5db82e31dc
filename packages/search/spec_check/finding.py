"""One finding of a check of the specification, and the correction that it proposes."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Any, Literal

from agent.verify.verdict import Evidence
from sandbox.lazy_dataclass import dataclass

FindingKind = Literal["contradiction", "impossible", "loophole"]
"""contradiction: two texts say different things; impossible: no work meets both; loophole: work that meets the text
need not do what is meant."""

PROMPT = "prompt"
"""Path of a correction of the prompt itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A proposed change of a text. path: relative to the workspace, or `PROMPT`"""

    path: str
    before: str
    after: str

    def format_diff(self) -> str:
        """Return the change as a unified diff."""
        return "".join(
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in unified_diff(
                self.before.splitlines(keepends=True),
                self.after.splitlines(keepends=True),
                f"a/{self.path}",
                f"b/{self.path}",
                n=1,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFinding:
    """Something to decide before the work. places: what it is about: files with lines, rules, requirements"""

    kind: FindingKind
    text: str
    places: tuple[str, ...] = ()
    evidence: Evidence = "static"
    corrections: tuple[Correction, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """Return it as it is logged and printed as JSON."""
        return {
            "kind": self.kind,
            "text": self.text,
            "places": list(self.places),
            "evidence": self.evidence,
            "diff": format_diffs([self]),
        }


def merge_corrections(findings: Sequence[SpecFinding]) -> list[Correction]:
    """Return one correction for each text, with the changes of all findings; of two of one line the first counts."""
    texts: dict[str, tuple[str, list[str]]] = {}
    for each in (correction for finding in findings for correction in finding.corrections):
        before, lines = texts.setdefault(each.path, (each.before, each.before.splitlines(keepends=True)))
        if each.before == before:
            _merge_lines(before.splitlines(keepends=True), each.after.splitlines(keepends=True), lines)
    merged = (
        Correction(path=path, before=before, after="".join(lines)) for path, (before, lines) in texts.items()
    )
    return [each for each in merged if each.after != each.before]


def _merge_lines(old: Sequence[str], new: Sequence[str], merged: list[str]) -> None:
    """Put the changes from `old` to `new` into `merged`, which has as many entries as `old`: a line or its changes."""
    from sandbox.fs.line_diff import compute_opcodes

    for tag, first, last, begin, end in compute_opcodes(old, new):
        if tag == "equal":
            continue
        if tag == "insert":
            place = min(first, len(merged) - 1)
            if place >= 0 and merged[place] == old[place]:
                text = "".join(new[begin:end])
                at_end = first >= len(old)
                ended = merged[place] if merged[place].endswith("\n") else f"{merged[place]}\n"
                merged[place] = ended + text if at_end else text + merged[place]
        elif list(old[first:last]) == merged[first:last]:
            merged[first:last] = ["".join(new[begin:end]), *[""] * (last - first - 1)]


def format_diffs(findings: Sequence[SpecFinding]) -> str:
    """Return the corrections of findings as one unified diff, "" if there are none."""
    return "".join(each.format_diff() for each in merge_corrections(findings))
