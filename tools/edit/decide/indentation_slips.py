"""Slips that leave it open how deep new lines are: each check raises AmbiguousEdit."""

from __future__ import annotations

from itertools import pairwise

from tools.edit.indentation import (
    OPENERS,
    compute_min_bracket_depth,
    fit_indent_mapping,
    indent_of,
    is_uniform_indent_change,
    measure_indent_unit,
    normalize_indent,
)
from tools.edit.match.matchers import has_distinctive_word
from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.style_adapter import find_odd_first, has_new_line_before, map_old_lines
from tools.edit.stage_values import LineAlignment

_BLOCK = ("{", ":")
"""Endings of a line whose block is deeper, on the next line."""

_CLOSERS = "})]{"


def refuse_lone_line_without_indent(aligned: LineAlignment) -> None:
    """One line is given without its indentation: the added ones may have theirs, or lack as much."""
    if len(aligned.indents) != 1:
        return
    [(given, indent)] = aligned.indents.values()
    if given == indent:
        return
    widths = [len(indent_of(text)) for text in aligned.added if text.startswith((" ", "\t"))]
    unit = 1 if "\t" in indent else measure_indent_unit(aligned.source.lines)
    if given:
        unclear = (len(indent) - len(given)) % unit != 0 and any(width != len(given) for width in widths)
    else:
        unclear = bool(widths) and (
            min(widths) >= len(indent)
            or any(width % unit for width in widths)
            or not _has_block_opener(aligned)
        )
    if unclear or (not given and (_is_leaving_block(aligned) or _is_continued_outside(aligned))):
        raise AmbiguousEdit(
            "`old` lacks its indentation, so that of the other lines is not clear: give it in both"
        )


def refuse_first_line_or_levels(aligned: LineAlignment) -> None:
    """The first line alone is indented otherwise than in the file, or all levels are."""
    odd = find_odd_first(aligned)
    pairs = list(aligned.indents.values())
    is_indented = any(indent_of(text) for text in aligned.added if text.strip())
    if odd and odd[0] and is_indented and is_uniform_indent_change(pairs):
        raise AmbiguousEdit(
            "whether the first line alone is indented otherwise than in the file, or all levels are, is not "
            "clear: give the lines as in the file"
        )


def refuse_bracket_at_other_depth(aligned: LineAlignment) -> None:
    """Some lines match at the given depth, and one of brackets alone does not, although lines are added next
    to it, or new lines share only its depth: it may be another one.
    """
    if find_odd_first(aligned) or not aligned.added:
        return
    lines = aligned.lines
    same = [i for i, (given, there) in aligned.indents.items() if given == there]
    if not any(has_distinctive_word(lines[i].text) and indent_of(lines[i].text) for i in same):
        return
    known = {indent_of(lines[i].text) for i in same}
    new = {indent_of(text) for text in aligned.added if text.strip()} - known
    for i in aligned.indents:
        text = lines[i].text
        if (
            i not in same
            and not has_distinctive_word(text)
            and (indent_of(text) in new or _has_insertion_beside(aligned, i))
        ):
            raise AmbiguousEdit(
                f"{text.strip()[:60]!r} stands at another depth there, and the other lines do not: "
                "give it as the file has it"
            )


def refuse_two_slips(aligned: LineAlignment) -> None:
    """The first line lacks indentation, the others differ from the file, too, and a new line at another depth
    could follow either.
    """
    pairs = list(aligned.indents.values())
    if find_odd_first(aligned) or len(pairs) < 2 or is_uniform_indent_change(pairs):
        return
    (given, there), rest = pairs[0], pairs[1:]
    source, known = aligned.source, {model for model, _ in rest}
    mapping = fit_indent_mapping(rest, aligned.added, source.lines, source.tabs)
    seen = mapping(given) if mapping else None
    lacks = not given and bool(there) if seen is None else seen != there and there.endswith(seen)
    if not lacks or given in known:
        return
    for i, (op, text) in enumerate(aligned.lines):
        if op != "+" or not text.strip() or (depth := normalize_indent(text)) in known:
            continue
        if depth != given or has_new_line_before(aligned, i):
            raise AmbiguousEdit(
                f"how deep to indent {text.strip()[:60]!r} is not clear: the first line is not "
                "indented like the others; give them all as in the file"
            )


def refuse_merged_depths(aligned: LineAlignment) -> None:
    """Two depths, neither only the first line's, are one in the file: other lines may be meant."""
    pairs = list(aligned.indents.values())
    if find_odd_first(aligned) or len(pairs) < 2 or is_uniform_indent_change(pairs):
        return
    own = {pair for i, pair in aligned.indents.items() if has_distinctive_word(aligned.lines[i].text)}
    if len(pairs[0][0]) >= len(pairs[0][1]) and len({there for _, there in own}) < len(own):
        raise AmbiguousEdit(
            "lines of several depths stand at one in the file: give them with their indentation"
        )


def refuse_flat_block(aligned: LineAlignment) -> None:
    """Old lines lack indentation and a new block opens without any: the depth of its lines is lost."""
    source, lines, rows = aligned.source, aligned.lines, aligned.row_of
    lost = (
        given != there and lines[i].text.strip() == source.lines[rows[i]].strip()
        for i, (given, there) in aligned.indents.items()
    )
    if not any(lost):
        return
    known = map_old_lines(aligned)
    for one, other in pairwise(aligned.new_lines):
        fresh = any(line.op == "+" and line.text not in known for line in (one, other))
        opens = one.text.rstrip().endswith(_BLOCK) and other.text.strip()[0] not in _CLOSERS
        if fresh and opens and len(indent_of(other.text)) <= len(indent_of(one.text)):
            raise AmbiguousEdit(
                "the lines are not indented as in the file: give `old` and `new` with their indentation"
            )


def _has_insertion_beside(aligned: LineAlignment, number: int) -> bool:
    """Return whether lines are only added directly before or after this line."""
    lines = aligned.lines
    for by in (-1, 1):
        at, ops = number + by, set[str]()
        while 0 <= at < len(lines) and (op := lines[at].op) != " ":
            ops.add(op)
            at += by
        if ops == {"+"}:
            return True
    return False


def _is_leaving_block(aligned: LineAlignment) -> bool:
    """Return whether the block ends after its one given line, and new lines at the margin follow a blank one:
    the margin may be the block's, or the file's.
    """
    new = [line for line in aligned.lines if line.op != "-"]
    apart = any(
        not one.text.strip() and other.op == "+" and other.text[:1].strip() for one, other in pairwise(new)
    )
    return apart and _is_less_deep_below(aligned)


def _is_continued_outside(aligned: LineAlignment) -> bool:
    """Return whether new lines at the margin, after the one given without its indentation, may be meant there:
    the file continues less deep, or they close the block of that line.
    """
    new = aligned.new_lines
    if not any(line.op == "+" and not indent_of(line.text) for line in new[1:]):
        return False
    text = "\n".join(line.text for line in new)
    return _is_less_deep_below(aligned) or compute_min_bracket_depth(text) < 0


def _is_less_deep_below(aligned: LineAlignment) -> bool:
    """Return whether the file's next line is less deep than the one that was found."""
    [(_, indent)] = aligned.indents.values()
    last = max(aligned.row_of.values())
    below = next((line for line in aligned.source.lines[last + 1 :] if line.strip()), "")
    return len(indent_of(below)) < len(indent)


def _has_block_opener(aligned: LineAlignment) -> bool:
    """Return whether the line before the first indented new line opens a block."""
    new = [line.text for line in aligned.new_lines]
    first = next((i for i, text in enumerate(new) if indent_of(text)), 0)
    above = new[first - 1].rstrip() if first > 0 else ""
    return above.endswith(OPENERS) and not above.endswith(".")  # a sentence may end there
