"""Division of a report's text into prose, code, transcripts and traces, whether they are marked up or not."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from typing import Literal

from packages.offline.reproduction.report.told_errors import TRACE_START, parse_trace
from packages.offline.reproduction.report.transcripts import is_prompt
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MAX_TEXT = 60_000
"""Characters of a report that are read; the rest is logs."""

MAX_LINE = 2_000
"""Characters of a line that are read."""

MOST_LOOSE = 120
"""Lines of one piece of code that is not marked up."""

MOST_BREAK = 6
"""Lines inside an open bracket or text that do not look like code."""

MOST_SHORTER = 40
"""Lines at the end of a piece that may turn out to be prose."""

Kind = Literal["prose", "block", "code"]

_FENCE = compile_lazily(r"^\s{0,8}(`{3,}|~{3,})\s*\{?\.?([\w+-]*)")
_DIRECTIVE = compile_lazily(r"^\s*\.\. (?:code(?:-block)?|sourcecode|parsed-literal)::")
_CODE_START = compile_lazily(
    r"(?:from [\w.]+ import |import [\w.]+(?:\s*,\s*[\w.]+|\s+as\s+\w+)*\s*(?:#.*)?$|class \w+\b.*:\s*(?:#.*)?$"
    r"|(?:async )?def \w+\(|@[\w.]+(?:\(.*)?$|(?:for|while|with|if|try)\b.*:\s*(?:#.*)?$|assert\b.+"
    r"|print\b\s*[\(\w'\"].*|[\w.\[\]'\"]+(?:,\s*[\w.]+)*\s*(?:[-+*/|@]|//|\*\*)?=\s*[^=\s].*"
    r"|[\w.]+(?:\[.*\])?\(.*$|[\w.]+(?:\(.*\))?\.[\w.]+\s*(?:#.*)?$)"
)
"""The first line of code that stands unmarked between prose."""

_CONTINUES = compile_lazily(r"[)\]}]|#|(?:el|else|except|finally|return)")
"""Lines that go on with code, but begin none."""

_MARK = compile_lazily(r"\u200b|\u200c|\ufeff|\u2060")


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A piece of the text: prose, a marked block, or code that is not marked up."""

    kind: Kind
    lines: tuple[str, ...]
    language: str = ""

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def clean_text(text: str) -> str:
    """Return the text with one kind of line end, no control characters, and of bounded size."""
    text = _MARK.sub("", text[: MAX_TEXT * 2].replace("\r\n", "\n").replace("\r", "\n"))
    lines = ("".join(c for c in line[:MAX_LINE] if c >= " " or c == "\t") for line in text.split("\n"))
    return "\n".join(lines)[:MAX_TEXT]


def split_elements(text: str) -> list[Element]:
    """Return the elements of a cleaned text, in order."""
    found: list[Element] = []
    for element in _split_fences(text.split("\n")):
        if element.kind == "prose":
            found += _split_prose(element.lines)
        else:
            found.append(element)
    return [each for each in found if each.text.strip()]


def parse_code(text: str) -> ast.Module | None:
    """Parse Python, with the print statement of Python 2; None if it is none."""
    if len(text) > MAX_TEXT:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of somebody's code: an escape, `is` with a literal
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def normalize_code(text: str) -> str:
    """Return code without common indentation, tabs and Python 2's print statements."""
    text = textwrap.dedent(text.expandtabs(4)).strip("\n").rstrip()
    lines = [line for line in text.split("\n") if not re.match(r"^\s*(?:%\w+|!\w+)", line)]
    text = "\n".join(lines)
    if parse_code(text) is None:
        printed = re.sub(r"^(\s*)print\s+(?![\(=])(.+?)\s*$", r"\1print(\2)", text, flags=re.MULTILINE)
        printed = re.sub(r"\bexcept (\w+), (\w+):", r"except \1 as \2:", printed)
        if parse_code(printed) is not None:
            return printed
    return text


def is_expression(source: str) -> bool:
    """Return whether a statement is a single expression, which has a value or prints one."""
    tree = parse_code(source)
    return tree is not None and len(tree.body) == 1 and isinstance(tree.body[0], ast.Expr)


def _split_fences(lines: Sequence[str]) -> Iterator[Element]:
    prose: list[str] = []
    place = 0
    while place < len(lines):
        opened = _FENCE.match(lines[place])
        end = _find_fence_end(lines, place, opened[1]) if opened else None
        if opened is None or end is None:
            prose.append(lines[place])
            place += 1
            continue
        if prose:
            yield Element(kind="prose", lines=tuple(prose))
        prose = []
        body = textwrap.dedent("\n".join(lines[place + 1 : end])).split("\n")
        yield Element(kind="block", lines=tuple(body), language=opened[2].lower())
        place = end + 1
    if prose:
        yield Element(kind="prose", lines=tuple(prose))


def _find_fence_end(lines: Sequence[str], start: int, mark: str) -> int | None:
    for place in range(start + 1, len(lines)):
        if lines[place].strip().startswith(mark) and not lines[place].strip().strip(mark[0]):
            return place
    return None


def _split_prose(lines: Sequence[str]) -> Iterator[Element]:
    """Find transcripts, traces, literal blocks and loose code in text without fences."""
    prose: list[str] = []
    place = 0
    while place < len(lines):
        end, kind = _measure_code(lines, place)
        if end > place:
            if prose:
                yield Element(kind="prose", lines=tuple(prose))
            prose = []
            body = textwrap.dedent("\n".join(lines[place:end]).expandtabs(4)).split("\n")
            yield Element(kind=kind, lines=tuple(body))
            place = end
        else:
            if not _DIRECTIVE.match(lines[place]):
                prose.append(lines[place])
            place += 1
    if prose:
        yield Element(kind="prose", lines=tuple(prose))


def _measure_code(lines: Sequence[str], place: int) -> tuple[int, Kind]:
    """Return the end of the code that begins at a line, the line itself if none does; and the element's kind."""
    line = lines[place]
    if is_prompt(line):
        return _find_transcript_end(lines, place), "block"
    if TRACE_START.match(line.strip()):
        return parse_trace(lines, place)[1], "block"
    if _CODE_START.match(line.strip()):
        return _find_loose_end(lines, place), "code"
    return place, "prose"


def _find_transcript_end(lines: Sequence[str], place: int) -> int:
    end = last = place
    while end < len(lines):
        if is_prompt(lines[end]):
            last = end
        elif not lines[end].strip():
            later = next((each for each in lines[end:] if each.strip()), "")
            if not is_prompt(later) and not later.startswith((" ", "\t")):
                break
        elif TRACE_START.match(lines[end].strip()):
            end = parse_trace(lines, end)[1]
            continue
        end += 1
    return max(end, last + 1)


def _find_loose_end(lines: Sequence[str], place: int) -> int:
    """Return the end of the longest piece that parses and ends with a line that looks like code."""
    last = place + 1
    for end in range(place + 1, min(len(lines), place + MOST_LOOSE) + 1):
        line = lines[end - 1]
        if is_prompt(line) or TRACE_START.match(line.strip()):
            break
        if not line.strip():
            continue
        if line[:1] in (" ", "\t") or _CODE_START.match(line) or _CONTINUES.match(line):
            last = end
        elif end - last > MOST_BREAK or _is_complete(lines[place:last]):
            break
    for end in range(last, max(place, last - MOST_SHORTER), -1):
        if lines[end - 1].strip() and _is_complete(lines[place:end]):
            return end
    return place


def _is_complete(lines: Sequence[str]) -> bool:
    return parse_code(normalize_code("\n".join(lines))) is not None
