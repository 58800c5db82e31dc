"""The report of an agent: all of it that its parent gets to see, of bounded size, with a reference to the whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field
from typing import Any

from agent.exit_codes import Exit
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.text import clip, format_count
from tools.core.untrusted_output import enclose_in_tag

LONGEST = 2_000
"""Bytes of a report that enter the context of its parent, at most; 2 KB with room for a note of the gateway."""

LONGEST_QUESTION = 1_200
"""Bytes of a question to the parent."""

MOST_FINDINGS = 100
"""Findings of a report that are kept."""

LONGEST_MERGE = 600
"""Bytes about the merge of an agent's changes."""

SHARE_OF_TEXT = 900
"""Bytes of the text where findings or tests follow it."""


@dataclass(slots=True, kw_only=True)
class Finding:
    """place: "path:line" or "path:first-last"; note: one sentence about it"""

    place: str
    note: str


@dataclass(slots=True, kw_only=True)
class TestFile:
    """path: where it belongs; content: all of it"""

    __test__ = False

    path: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an agent came to.

    child: its name in the session; session: id of its own
    outcome: label of its session's exit code; text: its answer
    findings: places with a sentence each; tests: path → reference of the file's content
    question: to its parent, before it goes on; "" if it has ended
    last_words: what it wrote last before a limit or an interruption ended it
    merge: what became of the changes of one in a worktree, a line; merged: files that were merged
    conflicts: files without a merge; unmerged: its changes are kept apart for another reason
    """

    agent: str
    child: str
    session: str
    outcome: str
    exit_code: int
    text: str
    findings: Sequence[Finding] = ()
    tests: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    last_words: str = ""
    merge: str = ""
    merged: Sequence[str] = ()
    conflicts: Sequence[str] = ()
    unmerged: bool = False
    usage: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def is_finished(self) -> bool:
        """Whether the agent came to an end by itself: not by a limit, an interruption or an error."""
        return self.exit_code in _OWN_ENDS and self.outcome != "crashed"

    def format_whole(self) -> str:
        """Return all of it, for the artifact that the parent may recall."""
        lines = [self._describe_end(), self.merge, self.text.strip(), self.last_words.strip()]
        lines += [f"{each.place}: {each.note}" for each in self.findings]
        lines += [f"{path}: {ref}" for path, ref in self.tests.items()]
        return "\n".join(line for line in lines if line)

    def format_text(self, ref: str) -> str:
        """Return it for the parent's model, in at most `LONGEST` bytes. ref: of the whole"""
        head = f' child="{self.child}" session="{self.session}" outcome="{self.outcome}"'
        if self.question:
            hint = (
                f'Answer it: delegate(child="{self.child}", task="…"). If only the user can know, ask them first: '
                "ask_user(question=…)."
            )
            return f"{enclose_in_tag('agent-question', cut(self.question, LONGEST_QUESTION), head)}\n{hint}"
        tail = f'Whole report: recall(ref="{ref}"). To go on with this agent: delegate(child="{self.child}", task=…).'
        heads = (self._describe_end(), cut(self.merge, LONGEST_MERGE))
        first = "".join(f"{line}\n" for line in heads if line)
        room = LONGEST - len(f"{first}{tail}".encode()) - len(enclose_in_tag("agent-report", "", head)) - 1
        body = enclose_in_tag("agent-report", self._fit(room), head)
        excess = len(f"{first}{body}{tail}".encode()) + 1 - LONGEST
        if excess > 0:  # tags in the text, which are longer when they are escaped
            body = enclose_in_tag("agent-report", self._fit(room - 2 * excess), head)
        return f"{first}{body}\n{tail}"

    def build_data(self) -> dict[str, Any]:
        """Return it as data, for views and programs."""
        return {
            "agent": self.agent,
            "child": self.child,
            "session": self.session,
            "outcome": self.outcome,
            "findings": [asdict(each) for each in self.findings],
            "tests": dict(self.tests),
            "question": self.question,
            **({"merged": list(self.merged)} if self.merged else {}),
            **({"conflicts": list(self.conflicts)} if self.conflicts else {}),
            "usage": dict(self.usage),
            "seconds": self.seconds,
        }

    def _fit(self, room: int) -> str:
        """Return text, findings and tests in so many bytes; what is left out is counted."""
        items = [f"{each.place}: {' '.join(each.note.split())}" for each in self.findings]
        items += [f"{path}: {ref}" for path, ref in self.tests.items()]
        parts = [self.text.strip(), self.last_words.strip()]
        text = cut("\n".join(filter(None, parts)), SHARE_OF_TEXT if items else room)
        lines, used = [text] if text else [], len(text.encode())
        for number, item in enumerate(items):
            more = f"[… {len(items) - number} more]"
            line = cut(item, 300)
            if used + len(line.encode()) + len(more) + 2 > room:
                lines.append(more)
                break
            lines.append(line)
            used += len(line.encode()) + 1
        return "\n".join(lines)

    def _describe_end(self) -> str:
        """Return how an agent ended that did not end by itself; "" for one that did."""
        if self.is_finished:
            return ""
        return f"{self.child}: Not finished ({self.outcome}). Its last words are no result."


_OWN_ENDS = (
    Exit.DONE,
    Exit.NOT_ACHIEVED,
    Exit.NOTHING_TO_DO,
    Exit.TESTS_FAIL,
    Exit.NO_TEST_RUNNER,
    Exit.DENIED,
)


def cut(text: str, size: int) -> str:
    """Return a text in at most so many bytes of UTF-8, its middle left out."""
    content = text.encode()
    if len(content) <= size:
        return text
    mark = " [… cut …] "
    half = max((size - len(mark.encode())) // 2, 0)
    head = content[:half].decode("utf-8", "ignore")
    return f"{head}{mark}{content[len(content) - half :].decode('utf-8', 'ignore')}"


_PLACE = compile_lazily(
    r"^\s*(?:[-*]\s+)?`?(?P<place>[\w./@+-]+:\d+(?:[-–]\d+)?)`?\s*(?:[:—–-]\s*)?(?P<note>\S.*)$"
)


def parse_findings(text: str) -> list[Finding]:
    """Return the lines of a text that are `path:line: sentence`, from models that do not use the tool."""
    found = []
    for line in text.split("\n"):
        if match := _PLACE.match(line):
            found.append(Finding(place=match["place"], note=match["note"].strip()))
    return found[:MOST_FINDINGS]


def strip_findings(text: str, findings: list[Finding]) -> str:
    """Return a text without the lines that were read as findings."""
    if not findings:
        return text
    places = {each.place for each in findings}
    kept = [line for line in text.split("\n") if not any(f.place in places for f in parse_findings(line))]
    return "\n".join(kept)


def check_place(place: str, count_lines: Callable[[str], int | None]) -> str:
    """Return why a place is none, "" if it is one. count_lines: lines of a file, None where there is none"""
    path, _, lines = place.rpartition(":")
    match = re.fullmatch(r"(\d+)(?:[-–](\d+))?", lines)
    if not path or match is None:
        return f"{clip(place, 80)!r} is no place: write path:line"
    total = count_lines(path)
    if total is None:
        return f"there is no file {clip(path, 80)!r}"
    first, last = int(match[1]), int(match[2] or match[1])
    if not 1 <= first <= last or first > max(total, 1):
        return f"{place}: {path} has {format_count(total, 'line')}"
    return ""
