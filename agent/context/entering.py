"""How an output enters a request: without what stands there already, and views of files without what is seldom needed.

What enters costs more than what stays, since a provider's cache holds only what was sent before. So this is done
once, when the output comes in, and changes nothing that was sent. It depends on the messages before it alone: when
one of these is shortened, it is done anew for those that follow, and so no reference points at what is not there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from agent.context import references
from agent.context.digest import MAX_NAMES, Known
from agent.context.repeats import LEAST, Visible
from agent.context.views import Line, parsed, runs, seldom_needed
from agent.model.base import AssistantMessage, Message, ToolMessage
from tools.action import Action

Outputs = Literal["whole", "once", "outlined"]
"""whole: as the tools gave them; once: lines that stand in the request already are referred to; outlined: besides,
views of files are sent without long docstrings and without bodies far from the lines that were asked for."""

NEVER = frozenset({"recall"})
"""Tools that are asked for just what had been left out."""

_ENDS = "[… ends as before …]"


class Entering:
    """Follows the messages of a request in their order. `how` an output enters it: see `Outputs`"""

    def __init__(self, how: Outputs) -> None:
        self.how = how
        self.clear()

    def clear(self) -> None:
        """Forget the messages: they will follow anew."""
        self._visible = Visible()
        self._known = Known()
        self._referred: dict[str, str] = {}  # call → output that was not sent whole

    def said(self, message: Message) -> None:
        """A message that is sent as it is."""
        if self.how == "whole":
            return
        if isinstance(message, ToolMessage):  # in a short form: what comes after it ends in no way as it did
            self._visible.ends([])
        texts = [message.text]
        if isinstance(message, AssistantMessage):
            texts += [str(value) for each in message.actions for value in each.arguments.values()]
        for text in texts:
            self._visible.see(parsed(text))
            self._known.see(text)

    def output(self, text: str, action: Action, data: Mapping[str, Any] | None, ref: str) -> str:
        """What is sent of an output. ref: brings the whole of it back"""
        if self.how == "whole":
            return text
        lines = list(parsed(text))
        call = f"{action.tool} {json.dumps(dict(action.arguments), sort_keys=True, default=repr)}"
        ended = self._visible.ends(lines)
        if action.tool in NEVER or self._referred.pop(call, None) == text:
            self._stand(lines)  # the last: asked for again, because it was not sent whole
            return text
        if _bytes(lines[len(lines) - ended :]) < len(_ENDS) + LEAST // 2:
            ended = 0
        body = lines[: len(lines) - ended]
        gaps: dict[int, range] = {}
        if self.how == "outlined" and data and "first" in data:
            gaps = {run.start: run for run in runs(seldom_needed(body, data) - self._repeated(body))}
        sent = "\n".join([*self._parts(body, gaps, action.tool, ref), *([_ENDS] if ended else [])])
        if sent != text:
            self._referred[call] = text
        return sent

    def _parts(self, lines: list[Line], gaps: Mapping[int, range], tool: str, ref: str) -> Iterator[str]:
        """The lines that are sent, and notes in the place of those that are not."""
        stays: list[Line] = []
        at = 0
        while at < len(lines):
            if at in gaps:
                length = len(gaps[at])
                self._stand(stays)
                yield self._gap(lines[at : at + length], tool, ref)
            else:
                length, note = self._repeat(lines, at, next((gap for gap in gaps if gap > at), len(lines)))
                if note:
                    self._stand(stays)
                    yield note
                else:
                    length = 1
                    stays.append(lines[at])
                    yield lines[at].raw
            at += length
        self._stand(stays)

    def _repeated(self, lines: list[Line]) -> set[int]:
        """Indices of the lines that stand in the request already."""
        found: set[int] = set()
        at = 0
        while at < len(lines):
            length, note = self._repeat(lines, at, len(lines))
            if note:
                found.update(range(at, at + length))
            at += length if note else 1
        return found

    def _repeat(self, lines: list[Line], at: int, end: int) -> tuple[int, str]:
        """(length, reference) of the run that begins at `at` and stands in the request; "" if it is not worth it."""
        if not lines[at].text.strip():
            return 0, ""
        length, place = self._visible.longest(lines[:end] if end < len(lines) else lines, at)
        run = lines[at : at + length]
        if _bytes(run) < LEAST:
            return 0, ""
        note = self._visible.reference(run, place)
        return (length, note) if _bytes(run) - len(note) >= LEAST else (0, "")

    def _stand(self, lines: list[Line]) -> None:
        """These lines are sent."""
        if lines:
            self._visible.see(lines)
            self._known.see("\n".join(line.text for line in lines))
            lines.clear()

    def _gap(self, lines: list[Line], tool: str, ref: str) -> str:
        first, last = lines[0].number, lines[-1].number
        how = f"read(start={first}, end={last})" if tool == "read" else f'recall(ref="{ref}")'
        text = "\n".join(line.text for line in lines)
        new = [each for each in references.paths(text) if each not in self._known.paths]
        new += [each for each in references.names(text) if each not in self._known.words]
        names = " ".join(dict.fromkeys(new[:MAX_NAMES]))
        self._known.see(names)
        return f"[… {first}–{last} left out, {how}{f': {names}' if names else ''} …]"


def _bytes(lines: list[Line]) -> int:
    return sum(len(line.raw) + 1 for line in lines)
