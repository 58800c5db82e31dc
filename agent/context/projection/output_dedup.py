"""How an output enters a request: without what stands there already, and views of files without what is seldom needed.

What enters costs more than what stays, since a provider's cache holds only what was sent before. So this is done
once, when the output comes in, and changes nothing that was sent. It depends on the messages before it alone: when
one of these is shortened, it is done anew for those that follow, and so no reference points at what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.context.projection import references
from agent.context.projection.digest import KnownWords
from agent.context.projection.file_views import Line, find_elidable_lines, group_runs, parse_lines
from agent.context.projection.repeated_lines import LEAST, Reference, VisibleLines
from agent.model.protocol import AssistantMessage, Message, ToolMessage
from tools.core.action import Action

Outputs = Literal["whole", "once", "outlined"]
"""whole: as the tools gave them; once: lines that stand in the request already are referred to; outlined: besides,
views of files are sent without long docstrings and without bodies far from the lines that were asked for."""

NEVER = frozenset({"recall"})
"""Tools that are asked for just what had been left out."""

MAX_NAMES = 20
"""Of a part of a view that is left out: what it is about; the part itself is one `read` away."""

_ENDS = "[… ends as before …]"


class OutputDeduplicator:
    """Follows the messages of a request in their order. `how` an output enters it: see `Outputs`"""

    def __init__(self, how: Outputs) -> None:
        self.how = how
        self.clear()

    def clear(self) -> None:
        """Forget the messages: they will follow anew."""
        self._visible = VisibleLines()
        self._known = KnownWords()
        self._referred: dict[str, str] = {}  # call → output that was not sent whole

    def add_message(self, message: Message) -> None:
        """A message that is sent as it is."""
        if self.how == "whole":
            return
        if isinstance(message, ToolMessage):  # in a short form: what comes after it ends in no way as it did
            self._visible.count_repeated_end([])
        texts = [message.text]
        if isinstance(message, AssistantMessage):
            texts += [str(value) for each in message.actions for value in each.arguments.values()]
        for text in texts:
            self._visible.add_lines(parse_lines(text))
            self._known.add_text(text)

    def reduce_output(
        self, text: str, action: Action, data: Mapping[str, Any] | None, ref: str, *, failed: bool = False
    ) -> str:
        """What is sent of an output. data: its facts; ref: brings it back; failed: it tells of a failure"""
        if self.how == "whole":
            return text
        data = data or {}
        lines = list(parse_lines(text))
        file = str(data.get("path", "")) if "first" in data else ""
        call = f"{action.tool} {json.dumps(dict(action.arguments), sort_keys=True, default=repr)}"
        ended = self._visible.count_repeated_end(lines)
        if action.tool in NEVER or self._referred.pop(call, None) == text:
            self._mark_sent(lines, file)  # the last: asked for again, because it was not sent whole
            return text
        if _count_bytes(lines[len(lines) - ended :]) < len(_ENDS) + LEAST // 2:
            ended = 0
        body = lines[: len(lines) - ended]
        gaps: list[range] = []
        if self.how == "outlined" and "first" in data:
            gaps = list(group_runs(find_elidable_lines(body, data) - self._find_repeated_lines(body, file)))
        parts = self._iter_parts(
            body, gaps, OutputSource(tool=action.tool, ref=ref, file=file, verdict="report" in data)
        )
        sent = "\n".join([*parts, *([_ENDS] if ended else [])])
        if sent != text and not (failed or "diff" in data or "report" in data):
            self._referred[call] = text
        return sent

    def _iter_parts(self, lines: list[Line], gaps: Sequence[range], of: OutputSource) -> Iterator[str]:
        """The lines that are sent, and notes in the place of those that are not."""
        at = 0
        if of.verdict and lines:  # how tests went is read at once, or not at all
            yield lines[0].raw
            self._mark_sent(lines[:1], of.file)
            at = 1
        for gap in (*gaps, range(len(lines), len(lines))):
            yield from self._iter_deduplicated(lines[: gap.start], at, of.file)
            if gap:
                yield self._format_gap(lines[gap.start : gap.stop], of)
            at = gap.stop

    def _iter_deduplicated(self, lines: list[Line], at: int, file: str) -> Iterator[str]:
        """The lines from `at` on, with references for those that stand above."""
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
        """Indices of the lines that stand in the request already."""
        found: set[int] = set()
        at = 0
        while at < len(lines):
            length, note = self._find_repeat(lines, at, file)
            if note is not None:
                found.update(range(at, at + length))
            at += length if note is not None else 1
        return found

    def _find_repeat(self, lines: list[Line], at: int, file: str) -> tuple[int, Reference | None]:
        """(length, reference) of the run that begins at `at` and stands in the request; None if it is not worth it."""
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
        """(reference, length) of `above` and a run after it in one, blank lines between them too; None if none."""
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
        """These lines are sent."""
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
        how = "" if of.told else f" left out, {how}"
        of.told = True
        return f"[… {first}–{last}{how}{f': {names}' if names else ''} …]"


@dataclass(slots=True, kw_only=True)
class OutputSource:
    """Where lines come from. verdict: the first says how tests went

    told: it has been said how what is left out of it is had back
    """

    tool: str
    ref: str
    file: str
    verdict: bool = False
    told: bool = False


def _count_bytes(lines: list[Line]) -> int:
    return sum(len(line.raw) + 1 for line in lines)
