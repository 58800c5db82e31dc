"""Filter that shows a model's text as it streams, and holds back text that may become a tool call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sandbox.lazy_pattern import compile_lazily

_MARK = compile_lazily(
    r"<(?=[a-z_|｜/]|$)|\[TOOL|```|functools\s*\[|^[ \t]*(?=[\[{])|^[ \t#*]*(?:Action|Tool|Function|Call)\b"
    r"|^[ \t]*(?:print\()?[\w.]+\((?=[\w\"'{)])",
    re.MULTILINE | re.IGNORECASE,
)
"""Where a call may begin."""

_TAG = compile_lazily(r"</?([|｜]?[\w:｜▁|.-]*)[^<>\n]{0,200}(>?)")
_OURS = compile_lazily(
    r"^(?:[|｜].*|tools?|tool_.*|toolcall|function.*|action.*|invoke|minimax:.*|antml:.*|think.*|observation)$",
    re.IGNORECASE,
)
_FENCE = compile_lazily(r"\A```[^\n]*\n(?:.*?\n)?[ \t]*```[ \t]*(?:\n|\Z)", re.DOTALL)

_LARGEST = 1 << 16
"""Characters of held text that are searched repeatedly; longer text waits for its end."""


class StreamFilter:
    """Filter of streamed text: text outside calls comes out.

    names: of the tools, whose tags are held; is_call: whether a finished stretch of text contains a call
    """

    def __init__(self, names: Iterable[str], is_call: Callable[[str], bool]) -> None:
        self.held = ""
        self._names = frozenset(names)
        self._is_call = is_call
        self._settled = False  # a call has been found: all later text waits for the end
        self._at_line_start = True

    def feed(self, piece: str) -> str:
        """Return the text that can be shown now."""
        self.held += piece
        shown: list[str] = []
        while not self._settled and (ready := self._find_release_end(fresh="\n" in piece)):
            shown.append(self.held[:ready])
            self.held = self.held[ready:]
            self._at_line_start = shown[-1].endswith("\n")
            piece = "\n"
        return "".join(shown)

    def _find_release_end(self, *, fresh: bool) -> int:
        """Return the number of held characters that are not part of a call."""
        lead = "" if self._at_line_start else "x"  # so that ^ does not match in the middle of a line
        match = _MARK.search(lead + self.held)
        if match is None:
            return self._find_last_word_start()
        start = match.start() - len(lead)
        if start > 0:
            return start
        if len(self.held) > _LARGEST:
            return 0
        mark = match[0].strip()
        if mark == "<":
            return self._find_tag_end()
        if mark.startswith(("[TOOL", "functools")):
            return 0
        if mark == "```":  # nothing to check before the fence that may close it
            return self._find_block_end(_FENCE.match(self.held)) if self.held.find("```", 3) > 0 else 0
        if not fresh or not (ready := self._find_lines_end()):
            return 0
        # Checked only for text that would be shown now, so that no text is searched again with each following
        # line.
        if self._is_call(self.held[:ready]):
            self._settled = True
            return 0
        return ready

    def _find_last_word_start(self) -> int:
        """Return the start of the last word, which may be the beginning of a mark."""
        line = self.held.rfind("\n") + 1
        if (line or self._at_line_start) and re.fullmatch(r"[ \t#*]*\w*", self.held[line:]):
            return line
        if self.held[-1:].isspace():
            return len(self.held)
        last = max(self.held.rfind(" "), self.held.rfind("\n")) + 1
        word = self.held[last:]
        begins = (last == 0 and self._at_line_start) or self.held[last - 1 : last] == "\n"
        return last if begins or re.search(r"[<\[`{]", word) else len(self.held)

    def _find_tag_end(self) -> int:
        match = _TAG.match(self.held)
        assert match is not None, "it begins with the bracket"
        if _OURS.match(match[1]) or match[1] in self._names:
            return 0
        goes_on = match.end() == len(self.held) and not match[2]
        return 0 if goes_on else match.end()

    def _find_block_end(self, match: re.Match[str] | None) -> int:
        if match is None:
            return 0
        if self._is_call(match[0]):
            self._settled = True
            return 0
        return match.end()

    def _find_lines_end(self) -> int:
        """Release lines that begin like JSON, Python or an action with the paragraph, or line, that is no call."""
        first = self.held.partition("\n")[0]
        if re.match(r"\s*\[(?![\s{\"'\]]|[\w.]+\()", first):  # a link or a checkbox
            return len(first) + 1
        end = self.held.rfind("\n") + 1
        whole = self.held[:end]
        if re.match(r"[ \t]*[\[{]", first):
            closed = re.search(r"^[ \t]*[\]}]+[ \t]*$", whole, re.MULTILINE) or first.rstrip().endswith(
                ("}", "]")
            )
            return end if closed and re.search(r"\n[ \t]*\n|\n\w", self.held) else 0
        if re.match(r"[ \t#*]*(?:Action|Tool|Function|Call)\b", first, re.IGNORECASE):
            return end if re.search(r"\n.*\n[ \t]*\n", self.held) else 0
        return len(first) + 1 if first.count("(") <= first.count(")") else 0
