"""Line splices as character splices, including the final newline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.lazy_dataclass import dataclass
from tools.edit.edit_model import Hunk
from tools.edit.match.matchers import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class LineSplice:
    """Replacement of the lines `first` to `end` (not included, from 0) of a file by `lines`."""

    first: int
    end: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSplice:
    """Replacement of the characters `start` to `end` (not included) of a text by `new`."""

    start: int
    end: int
    new: str


def to_text_splice(source: Source, splice: LineSplice) -> TextSplice:
    """Convert a line splice to a character splice. A file without a final newline stays without."""
    start, end = source.offset(splice.first), source.offset(splice.end)
    new = "".join(f"{line}\n" for line in splice.lines)
    if splice.end < len(source.lines) or source.ends_with_newline or not source.text:
        return TextSplice(start=start, end=end, new=new)
    if splice.first == len(source.lines):
        return TextSplice(start=end, end=end, new=f"\n{new.removesuffix(chr(10))}" if new else "")
    if not new:
        start = max(start - 1, 0)
    return TextSplice(start=start, end=end, new=new.removesuffix("\n"))


def adjust_final_newline(source: Source, hunk: Hunk, splices: list[TextSplice]) -> list[TextSplice]:
    """Return the splices of a hunk at the end of the file, adjusted to its statement on the final newline."""
    size = len(source.text)
    last = splices[-1]
    reaches_end = last.end == size
    if hunk.no_newline == "+" and (source.ends_with_newline or not source.text):
        if reaches_end:
            return [*splices[:-1], replace(last, new=last.new.removesuffix("\n"))]
        return [*splices, TextSplice(start=size - 1, end=size, new="")]
    if (
        hunk.no_newline == "-"
        and not source.ends_with_newline
        and source.text
        and not (reaches_end and last.new.endswith("\n"))
    ):
        return [*splices, TextSplice(start=size, end=size, new="\n")]
    return splices


def merge_splices(source: Source, splices: Sequence[TextSplice]) -> TextSplice:
    """Merge splices into one, including the text between them."""
    start, end = min(each.start for each in splices), max(each.end for each in splices)
    new, done = "", start
    for splice in sorted(splices, key=lambda each: (each.start, each.end)):
        new += source.text[done : splice.start] + splice.new
        done = splice.end
    return TextSplice(start=start, end=end, new=new)


def apply_splices(source: Source, made: Sequence[TextSplice]) -> str:
    """Return the text with these splices applied."""
    text = source.text
    for splice in sorted(made, key=lambda each: -each.start):
        text = text[: splice.start] + splice.new + text[splice.end :]
    return text
