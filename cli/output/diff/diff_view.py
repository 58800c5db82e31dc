"""Diffs for a terminal: numbered lines on faint backgrounds, or signs only where nothing is coloured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from cli.output.diff.diff_layout import DiffLayout
from cli.output.diff.diff_parser import DiffLine, FileDiff, parse_diff
from cli.output.style.paint import make_painter
from cli.output.style.terminal import wrap_hanging
from sandbox.sanitize import quote_name, sanitize_for_approval, sanitize_text

SIDE_BY_SIDE = 140
"""Columns from which both sides stand beside each other: two halves that hold usual lines of code."""


def format_diff(diff: str, layout: DiffLayout, *, limit: int) -> Iterator[str]:
    """Yield the rows of a diff, safe to show; after `limit` lines, one that says how many are left out.

    A file is named if there are several, or if more than its lines changed; otherwise the caller has named it.
    """
    files = parse_diff(diff)
    total = sum(len(hunk.lines) for file in files for hunk in file.hunks)
    left = limit
    for number, file in enumerate(files):
        if left <= 0 < total:
            break
        if len(files) > 1 or file.notes:
            yield from _format_heading(file, layout, first=not number)
        shown, left = _take_lines(file, left)
        yield from _format_lines(file.path, shown, layout)
    if total > limit:
        dots, count = ("…" if layout.unicode else "..."), total - limit
        words = f"{dots} +{count} line{'' if count == 1 else 's'} ({layout.rest})"
        yield " " * layout.indent + make_painter(colour=layout.colour)(words, "dim")


def _format_heading(file: FileDiff, layout: DiffLayout, *, first: bool) -> Iterator[str]:
    paint = make_painter(colour=layout.colour)
    notes = f"  {', '.join(map(sanitize_text, file.notes))}" if file.notes else ""
    if layout.colour and not first:
        yield ""
    row = f"{paint(quote_name(file.path), 'bold')}{paint(notes, 'dim')}"
    rows = wrap_hanging(row, layout.width - layout.indent, "  ") if layout.width else [row]
    yield from (" " * layout.indent + each for each in rows)


Section = tuple[str, str, Sequence[DiffLine]]
"""Header of a hunk, what git names after it, and its lines."""


def _take_lines(file: FileDiff, most: int) -> tuple[list[Section], int]:
    """Return the first `most` lines of a file by hunk, and how many more may be shown."""
    taken: list[Section] = []
    for hunk in file.hunks:
        if most <= 0:
            break
        taken.append((hunk.header, hunk.section, list(islice(hunk.lines, most))))
        most -= len(hunk.lines)
    return taken, most


def _format_lines(path: str, sections: Sequence[Section], layout: DiffLayout) -> Iterator[str]:
    if not layout.colour:
        yield from _format_plain(sections, layout)
        return
    from cli.output.diff.diff_rows import DiffPainter  # with pygments, which only a diff in colour needs

    signs = {line.sign for _, _, lines in sections for line in lines}
    painter = DiffPainter(path, layout, max(_iterate_numbers(sections), default=1))
    beside = layout.width >= SIDE_BY_SIDE and {"+", "-"} <= signs
    for number, (_, section, lines) in enumerate(sections):
        if number or section:
            yield painter.format_gap(section)
        yield from painter.format_side_by_side(lines) if beside else painter.format_unified(lines)


def _iterate_numbers(sections: Sequence[Section]) -> Iterator[int]:
    for _, _, lines in sections:
        for line in lines:
            yield max(line.old, line.new)


def _format_plain(sections: Sequence[Section], layout: DiffLayout) -> Iterator[str]:
    indent = " " * layout.indent
    for header, _, lines in sections:
        for text in (
            sanitize_text(header),
            *(_format_plain_line(line, exact=layout.exact) for line in lines),
        ):
            row = indent + text
            yield from wrap_hanging(row, layout.width, f"{indent}  ") if layout.width else [row]


def _format_plain_line(line: DiffLine, *, exact: bool) -> str:
    if line.sign == "\\":
        return f"\\ {line.text}"
    if exact:
        return line.sign + sanitize_for_approval(line.text)
    return line.sign + sanitize_text(line.text).replace("\t", "    ")
