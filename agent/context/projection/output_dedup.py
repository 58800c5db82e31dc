"""Reduction of an output as it enters a request: repeated lines become references, file views are abridged.

New tokens cost more than retained ones, since a provider's cache covers only the request so far. So this is done
once, when the output arrives, and changes nothing that was sent. It depends only on the preceding messages: when one
of these is shortened, it is repeated for those that follow, so no reference points to missing text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.context.projection import references
from agent.context.projection.digest import KnownWords
from agent.context.projection.file_views import Line, find_elidable_lines, group_runs, parse_lines
from agent.context.projection.focus import Focus
from agent.context.projection.repeated_lines import LEAST, Reference, VisibleLines
from agent.model.protocol import AssistantMessage, Message, ToolMessage
from agent.session_settings import Outputs
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action

NEVER = frozenset({"recall"})
"""Tools whose purpose is to return omitted text."""

MAX_NAMES = 20
"""Names listed for an omitted part of a view: enough to see its subject; the part itself is one `read` away."""

_ENDS = "[… ends as before …]"

MOST_COMPARED = 1 << 17
"""Characters of a model's text with which outputs are compared: longer ones take seconds, and stay in no request."""


class OutputDeduplicator:
    """Reduces outputs, following the messages of a request in order. `how`: see `Outputs`"""

    def __init__(self, how: Outputs) -> None:
        self.how = how
        self.clear()

    def clear(self) -> None:
        """Forget the messages: they follow again."""
        self._visible = VisibleLines()
        self._known = KnownWords()
        self._focus = Focus()
        self._referred: dict[str, str] = {}  # call → output that was not sent in full

    def add_message(self, message: Message) -> None:
        """Add a message that is sent unchanged."""
        if self.how == "whole":
            return
        if isinstance(message, ToolMessage):  # in short form: the next output cannot share its ending
            self._visible.count_repeated_end([])
        self._focus.add_message(message)
        texts = [message.text]
        if isinstance(message, AssistantMessage):
            texts += [str(value) for each in message.actions for value in each.arguments.values()]
        for text in texts:
            if len(text) > MOST_COMPARED:
                continue
            self._visible.add_lines(parse_lines(text))
            self._known.add_text(text)

    def reduce_output(
        self, text: str, action: Action, data: Mapping[str, Any] | None, ref: str, *, failed: bool = False
    ) -> str:
        """Return the text sent for an output. data: its facts; ref: reference to the full text; failed: as observed"""
        if self.how == "whole":
            return text
        data = data or {}
        if self.how == "outlined":
            self._focus.add_output(action.tool, text, data, failed=failed)
        lines = list(parse_lines(text))
        file = str(data.get("path", "")) if "first" in data else ""
        call = f"{action.tool} {json.dumps(dict(action.arguments), sort_keys=True, default=repr)}"
        ended = self._visible.count_repeated_end(lines)
        if action.tool in NEVER or self._referred.pop(call, None) == text:
            self._mark_sent(lines, file)  # second case: requested again, because it was not sent in full
            return text
        if _count_bytes(lines[len(lines) - ended :]) < len(_ENDS) + LEAST // 2:
            ended = 0
        body = lines[: len(lines) - ended]
        gaps: list[range] = []
        if self.how == "outlined" and "first" in data:
            omitted = find_elidable_lines(body, data, self._focus.find_points(file))
            gaps = list(group_runs(omitted - self._find_repeated_lines(body, file)))
        parts = self._iter_parts(
            body, gaps, OutputSource(tool=action.tool, ref=ref, file=file, has_verdict="report" in data)
        )
        sent = "\n".join([*parts, *([_ENDS] if ended else [])])
        if sent != text and not (failed or "diff" in data or "report" in data):
            self._referred[call] = text
        return sent

    def _iter_parts(self, lines: list[Line], gaps: Sequence[range], of: OutputSource) -> Iterator[str]:
        """Yield the lines that are sent, and notes in place of the omitted ones."""
        at = 0
        if of.has_verdict and lines:  # the test verdict has to be readable at once
            yield lines[0].raw
            self._mark_sent(lines[:1], of.file)
            at = 1
        for gap in (*gaps, range(len(lines), len(lines))):
            yield from self._iter_deduplicated(lines[: gap.start], at, of.file)
            if gap:
                yield self._format_gap(lines[gap.start : gap.stop], of)
            at = gap.stop

    def _iter_deduplicated(self, lines: list[Line], at: int, file: str) -> Iterator[str]:
        """Yield the lines from `at` on, with references for those already in the request."""
        stays: list[Line] = []
        above: Reference | None = None
        while at < len(lines):
            if above is not None and (more := self._extend_reference(lines, at, above, file)):
                above, length = more
                at += length
                continue
            if above is not None:
                yield str(above)
            length, above = self._find_repeat(lines, at, file)
            if above is None:
                length = 1
                stays.append(lines[at])
                yield lines[at].raw
            else:
                self._mark_sent(stays, file)
            at += length
        if above is not None:
            yield str(above)
        self._mark_sent(stays, file)

    def _find_repeated_lines(self, lines: list[Line], file: str) -> set[int]:
        """Return the indices of the lines that the request already contains."""
        found: set[int] = set()
        at = 0
        while at < len(lines):
            length, note = self._find_repeat(lines, at, file)
            if note is not None:
                found.update(range(at, at + length))
            at += length if note is not None else 1
        return found

    def _find_repeat(self, lines: list[Line], at: int, file: str) -> tuple[int, Reference | None]:
        """Return (length, reference) of the repeated run at `at`; (0, None) if a reference does not pay."""
        if not lines[at].text.strip():
            return 0, None
        length, place = self._visible.find_longest_run(lines, at)
        run = lines[at : at + length]
        if _count_bytes(run) < LEAST:
            return 0, None
        note = self._visible.build_reference(run, place, file)
        return (length, note) if _count_bytes(run) - len(str(note)) >= LEAST else (0, None)

    def _extend_reference(
        self, lines: list[Line], at: int, above: Reference, file: str
    ) -> tuple[Reference, int] | None:
        """Return (reference, length) merging `above` with the next run, across blank lines; None if impossible."""
        start = at
        while start < len(lines) and not lines[start].text.strip() and lines[start].number is not None:
            start += 1
        if start == len(lines):
            return None
        length, place = self._visible.find_longest_run(lines, start)
        if not length:
            return None
        more = self._visible.build_reference(lines[start : start + length], place, file)
        return (more.merge(above), start - at + length) if more.can_merge(above, start - at) else None

    def _mark_sent(self, lines: list[Line], file: str) -> None:
        """Record lines as sent."""
        if lines:
            self._visible.add_lines(lines, file)
            self._known.add_text("\n".join(line.text for line in lines))
            lines.clear()

    def _format_gap(self, lines: list[Line], of: OutputSource) -> str:
        first, last = lines[0].number, lines[-1].number
        how = f"read(start={first}, end={last})" if of.tool == "read" else f'recall(ref="{of.ref}")'
        text = "\n".join(line.text for line in lines)
        new = [each for each in references.find_paths(text) if each not in self._known.paths]
        new += [each for each in references.find_names(text) if each not in self._known.words]
        names = " ".join(dict.fromkeys(new[:MAX_NAMES]))
        self._known.add_text(names)
        how = "" if of.is_note_given else f" left out, {how}"
        of.is_note_given = True
        return f"[… {first}–{last}{how}{f': {names}' if names else ''} …]"


@dataclass(slots=True, kw_only=True)
class OutputSource:
    """Source of lines. has_verdict: the first line is a test verdict

    is_note_given: the note on retrieving omitted parts was already given
    """

    tool: str
    ref: str
    file: str
    has_verdict: bool = False
    is_note_given: bool = False


def _count_bytes(lines: list[Line]) -> int:
    return sum(len(line.raw) + 1 for line in lines)
