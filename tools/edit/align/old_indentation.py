"""Old lines that are indented wrongly while the new ones are not: the lines that both share show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tools.edit.edit_model import Hunk
from tools.edit.hunk_diff import diff_lines
from tools.edit.indentation import fit_constant_shift, fit_indent_mapping, indent_of, normalize_indent
from tools.edit.match.matchers import Site, Source
from tools.edit.refusal import AmbiguousEdit


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


def pair_shared_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of lines that are equal except for white space around them; blank ones do not count."""
    from difflib import SequenceMatcher

    mine = [(i, line.strip()) for i, line in enumerate(old) if line.strip()]
    theirs = [(j, line.strip()) for j, line in enumerate(new) if line.strip()]
    texts = [text for _, text in mine], [text for _, text in theirs]
    for block in SequenceMatcher(None, *texts, autojunk=False).get_matching_blocks():
        yield from ((mine[block.a + k][0], theirs[block.b + k][0]) for k in range(block.size))


def _is_one_slip(source: Source, old: Sequence[str], new: Sequence[str], depths: Mapping[int, str]) -> bool:
    """Return whether one mapping explains the old lines' indentation and fits the new ones: less, more, by
    tabs.
    """
    pairs = [(normalize_indent(old[i]), depth) for i, depth in depths.items()]
    mapping = fit_constant_shift(pairs) or fit_indent_mapping(pairs, new, source.lines, source.tabs)
    return mapping is not None and all(mapping(normalize_indent(line)) is not None for line in new)
