"""Lines shared by `old` and `new` except for indentation: evidence of how `new` is indented.

A model that intends a change of indentation shows its reason: the line that opens or closes a block around
the moved lines. Where all of `new` is moved without one, or only its first line has lost its indentation, it
is a slip.
"""

from __future__ import annotations

from collections.abc import Sequence

from tools.edit.align.old_indentation import pair_shared_lines
from tools.edit.formats.cleanup import FENCES
from tools.edit.indentation import indent_of
from tools.edit.refusal import EditRefused
from tools.edit.stage_values import Case


def refuse_lost_indentation(case: Case) -> None:
    """Raise EditRefused if `new` lost its indentation, for old lines that occur in the file as given. The
    first line counts if only white space precedes it.
    """
    source, start, reading = case.source, case.start, case.aligned.reading
    if start is None:
        return
    before = source.before(start)
    skipped = 1 if before.strip() else 0
    old, new = ((before + text).split("\n")[skipped:] for text in (reading.old, reading.new))
    if reason := _explain_lost_indentation(old, new):
        raise EditRefused(f"`old` was found at line {source.line_at(start) + 1}, but {reason}")


def _explain_lost_indentation(old: Sequence[str], new: Sequence[str]) -> str | None:
    """Return why the indentation of `new` may be lost, None if it is not.

    A change of white space alone is intended, no slip. Nor is one that only removes lines, or only adds some,
    with all others unchanged.
    """
    if _is_subsequence(new, old) or _is_subsequence(old, new):
        return None
    pairs = list(pair_shared_lines(old, new))
    sizes = _count_filled_lines(old), _count_filled_lines(new)
    if len(pairs) == sizes[0] == sizes[1] or not all(sizes):
        return None
    # a bracket at two depths: it is unknown which corresponds to which
    pairs = [(i, j) for i, j in pairs if indent_of(old[i]) == indent_of(new[j]) or new[j] not in old]
    moved = [(i, j) for i, j in pairs if indent_of(old[i]) != indent_of(new[j])]
    indents = [(indent_of(old[i]), indent_of(new[j])) for i, j in moved]
    if any(("\t" in mine) != ("\t" in theirs) for mine, theirs in indents if mine and theirs):
        return "`new` has tabs where `old` has spaces, or spaces for tabs: indent it as the file is"
    if moved and len(moved) == len(pairs):
        if _is_indent_change_intended(old, new, pairs):
            return None
        return (
            "all that `new` has of it is indented otherwise, and no line says why: give both as in the file, "
            "or with the line before them"
        )
    if _is_first_at_margin(old, new, pairs, moved):
        return "`new` begins without the indentation that `old` has: give it, too"
    return None


def _is_subsequence(few: Sequence[str], many: Sequence[str]) -> bool:
    """Return whether `few` occurs exactly and in order within `many`; blank lines do not count."""
    others = iter(many)
    return all(line in others for line in few if line.strip())


def _count_filled_lines(lines: Sequence[str]) -> int:
    return sum(1 for line in lines if line.strip())


def _measure_indent(line: str) -> int:
    return len(indent_of(line).expandtabs(4))


def _is_indent_change_intended(
    old: Sequence[str], new: Sequence[str], pairs: Sequence[tuple[int, int]]
) -> bool:
    """Return whether a change of indentation is intended: deeper below a new line that is less deep, or less
    deep after the removal of an old one that was. A fence around the lines replaces indentation.
    """
    if any(line.startswith(FENCES) for line in new):
        return True
    steps = {_measure_indent(new[j]) - _measure_indent(old[i]) for i, j in pairs}
    if min(steps) < 0 < max(steps):
        return True  # some deeper, some less deep: no slip moves all lines so
    if max(steps) > 0:
        kept = {j for _, j in pairs}
        least = min(_measure_indent(new[j]) for _, j in pairs)
        return any(
            _measure_indent(line) < least for j, line in enumerate(new) if line.strip() and j not in kept
        )
    stays = {i for i, _ in pairs}
    least = min(_measure_indent(old[i]) for i, _ in pairs)
    return any(_measure_indent(line) < least for i, line in enumerate(old) if line.strip() and i not in stays)


def _is_first_at_margin(
    old: Sequence[str], new: Sequence[str], pairs: Sequence[tuple[int, int]], moved: Sequence[tuple[int, int]]
) -> bool:
    """Return whether the first new line has lost its indentation: it is the first old one and the only one
    moved; or it replaces that one, no old line is at the margin, and no other new one is.

    A preprocessor line is at the margin whatever surrounds it.
    """
    first, *others = [j for j, line in enumerate(new) if line.strip()]
    if indent_of(new[first]) or new[first].startswith("#"):
        return False
    top = next(i for i, line in enumerate(old) if line.strip())
    if moved == [(top, first)]:
        return True
    within = all(indent_of(line) for line in old if line.strip())
    if not within or top in (i for i, _ in pairs):
        return False
    return not pairs or (bool(others) and all(indent_of(new[j]) for j in others))
