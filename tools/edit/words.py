"""Words of a line, and lines that are versions of one another: what changed in one is done to the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tools.edit.changes import Line
from tools.edit.unclear import Unclear


def merged(base: str, ours: str, theirs: str) -> str:
    """Three-way merge of one line by words: what changed from `base` to `theirs`, done to `ours`.

    Where both changed the same words, and for white space, `theirs` stands. Raises Unclear if `theirs` has words
    between some that `ours` replaces by others: which of these belong on which side is not known.
    """
    base_words, our_words, their_words = _words(base), _words(ours), _words(theirs)
    kept = dict(_equal(base_words, their_words))  # word of base → the same word in theirs
    changed = _replaced(base_words, our_words)
    replacement: dict[int, str] = {}
    dropped: set[int] = set()
    for start, end, words in changed:
        if start == end or not all(i in kept for i in range(start, end)):
            continue
        first = kept[start]
        if kept[end - 1] - first != end - 1 - start:
            raise Unclear(
                f"a line that `new` changes is in the file otherwise: {ours[:60]!r}; give it as it is there"
            )
        replacement[first] = "".join(words)
        dropped |= {kept[i] for i in range(start + 1, end)}
    return "".join(replacement.get(i, word) for i, word in enumerate(their_words) if i not in dropped)


_WORDS = re.compile(r"\w+|[ \t]+|[^\w \t]")
"""A no-break space is a character of the file's, not white space that anybody may change."""


def _words(text: str) -> list[str]:
    return _WORDS.findall(text)


def _equal(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    from difflib import SequenceMatcher

    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield from ((block.a + i, block.b + i) for i in range(block.size))


def _replaced(base: Sequence[str], ours: Sequence[str]) -> list[tuple[int, int, list[str]]]:
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, base, ours, autojunk=False).get_opcodes()
    return [
        (a, b, list(ours[c:d]))
        for tag, a, b, c, d in codes
        if tag != "equal" and any(word.strip(" \t") for word in [*base[a:b], *ours[c:d]])
    ]


def versions(
    lines: Sequence[Line], removed: Sequence[int], added: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """(added, removed) lines that are versions of one another, in order."""
    from difflib import SequenceMatcher

    start = 0
    matcher = SequenceMatcher(autojunk=False)
    for new in added:
        matcher.set_seq2(lines[new].text.strip())
        for position in range(start, len(removed)):
            matcher.set_seq1(lines[removed[position]].text.strip())
            if matcher.quick_ratio() > 0.6 and matcher.ratio() > 0.6:
                yield new, removed[position]
                start = position + 1
                break
