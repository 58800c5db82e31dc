"""Lines shared by `old` and `new` except for indentation: evidence of how `new` is indented.

A model that intends a change of indentation shows its reason: the line that opens or closes a block around
the moved lines. Where all of `new` is moved without one, or only its first line has lost its indentation, it
is a slip.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tools.edit.adapt.style_adapter import normalize_indent
from tools.edit.edit_model import Hunk
from tools.edit.formats.cleanup import FENCES
from tools.edit.indentation import fit_constant_shift, fit_indent_mapping, indent_of
from tools.edit.match.ambiguous import AmbiguousEdit
from tools.edit.match.hunk_diff import diff_lines
from tools.edit.match.matchers import Site, Source


def refuse_lost_indentation(old: Sequence[str], new: Sequence[str]) -> None:
    """Raise AmbiguousEdit if `new` lost its indentation, for old lines that occur in the file as given.

    A change of white space alone is intended, no slip. Nor is one that only removes lines, or only adds some,
    with all others unchanged.
    """
    if _is_subsequence(new, old) or _is_subsequence(old, new):
        return
    pairs = list(pair_shared_lines(old, new))
    if (
        len(pairs) == _count_filled_lines(old) == _count_filled_lines(new)
        or not _count_filled_lines(new)
        or not _count_filled_lines(old)
    ):
        return
    # a bracket at two depths: it is unknown which corresponds to which
    pairs = [(i, j) for i, j in pairs if indent_of(old[i]) == indent_of(new[j]) or new[j] not in old]
    moved = [(i, j) for i, j in pairs if indent_of(old[i]) != indent_of(new[j])]
    indents = [(indent_of(old[i]), indent_of(new[j])) for i, j in moved]
    if any(("\t" in mine) != ("\t" in theirs) for mine, theirs in indents if mine and theirs):
        raise AmbiguousEdit(
            "`new` has tabs where `old` has spaces, or spaces for tabs: indent it as the file is"
        )
    if moved and len(moved) == len(pairs):
        if not _is_indent_change_intended(old, new, pairs):
            raise AmbiguousEdit(
                "all that `new` has of it is indented otherwise, and no line says why: give both as in the file, "
                "or with the line before them"
            )
    elif _is_first_at_margin(old, new, pairs, moved):
        raise AmbiguousEdit("`new` begins without the indentation that `old` has: give it, too")


def reindent_old_lines(source: Source, hunk: Hunk, site: Site) -> Hunk:
    """Reindent the old lines as in the file if only they, and not the new ones, are indented wrongly.

    Raises AmbiguousEdit if one slip in both texts explains the old lines as well (then a line of both is
    moved), if the shared lines contradict one another, or if there are none and it may be so.
    """
    rows = dict(site.pairs)
    old, new = hunk.old, hunk.new
    depths = {i: indent_of(source.lines[row]) for i, row in rows.items() if old[i].strip()}
    wrong = {i for i, depth in depths.items() if normalize_indent(old[i]) != depth}
    filled = [line for line in new if line.strip()]
    if not wrong or not filled or any(old[i] in new for i in wrong):
        return hunk  # or they are indented alike, whatever else of it recurs in `new`
    least = min(depths.values(), key=len)
    if not all(normalize_indent(line).startswith(least) for line in filled):
        return hunk  # one of them is outside of the block: they are not indented as the file is
    pairs = [(i, j) for i, j in pair_shared_lines(old, new) if i in wrong]
    right = [(i, j) for i, j in pairs if normalize_indent(new[j]) == depths[i]]
    first = min(depths)
    begins = not pairs and first in wrong and normalize_indent(filled[0]) == depths[first]
    if begins or (right and (len(right) < len(pairs) or _is_one_slip(source, old, filled, depths))):
        raise AmbiguousEdit("`old` and `new` are not indented alike: give both as in the file")
    if not right:
        return hunk
    mended = [depths[i] + line.lstrip() if i in wrong else line for i, line in enumerate(old)]
    return replace(hunk, lines=tuple(diff_lines(mended, new)))


def _is_one_slip(source: Source, old: Sequence[str], new: Sequence[str], depths: Mapping[int, str]) -> bool:
    """Return whether one mapping explains the old lines' indentation and fits the new ones: less, more, by
    tabs.
    """
    pairs = [(normalize_indent(old[i]), depth) for i, depth in depths.items()]
    mapping = fit_constant_shift(pairs) or fit_indent_mapping(pairs, new, source.lines, source.tabs)
    return mapping is not None and all(mapping(normalize_indent(line)) is not None for line in new)


def pair_shared_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of lines that are equal except for white space around them; blank ones do not count."""
    from difflib import SequenceMatcher

    mine = [(i, line.strip()) for i, line in enumerate(old) if line.strip()]
    theirs = [(j, line.strip()) for j, line in enumerate(new) if line.strip()]
    texts = [text for _, text in mine], [text for _, text in theirs]
    for block in SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks():
        yield from ((mine[block.a + k][0], theirs[block.b + k][0]) for k in range(block.size))


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
