"""Three-way merge of a line's words, and pairing of lines that are versions of one another."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.edit.edit_model import Line
from tools.edit.look_alikes import LOOK_ALIKES
from tools.edit.refusal import AmbiguousEdit


def merge_words(base: str, ours: str, theirs: str) -> str:
    """Merge one line by words, three-way: apply the changes from `base` to `theirs` to `ours`.

    Where both changed the same words, and for white space, `theirs` is taken. Raises AmbiguousEdit where that
    would lose
    words that only `ours` has: if `theirs` has changed the words next to them, the words they extend, or some
        but not all of those they replace; and where `theirs` keeps a word that `ours` has differently, by
        more than its punctuation: the slip may be in both, or in `base` alone.
    """
    if ours.split() == theirs.split():
        return theirs
    base_words, our_words, their_words = _split_words(base), _split_words(ours), _split_words(theirs)
    kept = dict(_match_equal_words(base_words, their_words))  # word of base → the same word in theirs
    pieces = ["", *their_words]  # one more before them: insertions go after a word
    for start, end, words in _find_replaced_words(base_words, our_words):
        solid = [i for i in range(start, end) if base_words[i].strip(" \t")]
        if not solid:
            if not _has_added_words(base_words, their_words, words):
                left = _find_left_word(base_words, their_words, kept, start, end, ours)
                pieces[left] += "".join(words)
                pieces[left + 1 : left + 1 + end - start] = [""] * (end - start)
            continue
        if not any(i in kept for i in solid):
            if sum(1 for word in words if word.strip(" \t")) > len(solid):
                raise _build_line_mismatch(ours)
            continue
        if any(kept.get(i) != kept.get(start, 0) + i - start for i in range(start, end)):
            raise _build_line_mismatch(ours)
        if words and _normalize_words(words) != _normalize_words(base_words[start:end]):
            # a slip in both, or one in `base` alone, of which `theirs` is right
            raise _build_line_mismatch(ours)
        if words and any(base.count(each) != theirs.count(each) for each in base_words[start:end]):
            # it is unclear which of those in `theirs` the file has differently
            raise _build_line_mismatch(ours)
        pieces[1 + kept[start] : 1 + kept[end - 1] + 1] = ["".join(words), *[""] * (end - 1 - start)]
    return "".join(pieces)


def _find_left_word(
    base: Sequence[str], theirs: Sequence[str], kept: Mapping[int, int], start: int, end: int, ours: str
) -> int:
    """Return the word of `theirs`, from 1 (0: none), after which the file's replacement of base's white
    space, or of nothing, from `start` to `end` is inserted. Raises AmbiguousEdit unless `theirs` has the same
    on both sides of it.
    """
    left = kept.get(start - 1) if start else -1
    right = kept.get(end) if end < len(base) else len(theirs)
    if left is None or right is None or list(theirs[left + 1 : right]) != list(base[start:end]):
        raise _build_line_mismatch(ours)
    return left + 1


def _has_added_words(base: Sequence[str], theirs: Sequence[str], words: Sequence[str]) -> bool:
    """Return whether `theirs` adds the words that the file has and `base` lacks."""
    wanted = [word for word in words if word.strip(" \t")]
    return _count_runs(theirs, wanted) > _count_runs(base, wanted)


def _count_runs(words: Sequence[str], wanted: Sequence[str]) -> int:
    filled = [word for word in words if word.strip(" \t")]
    return sum(filled[i : i + len(wanted)] == wanted for i in range(len(filled)))


def _normalize_words(words: Sequence[str]) -> str:
    """Normalize punctuation and the composition of accents."""
    return unicodedata.normalize("NFC", "".join(words)).translate(LOOK_ALIKES)


def _build_line_mismatch(line: str) -> AmbiguousEdit:
    return AmbiguousEdit(
        f"a line that `new` changes is in the file otherwise: {line[:60]!r}; give it as it is there"
    )


_WORDS = compile_lazily(r"\w+|[ \t]+|[^\w \t]")
"""A no-break space is a character of the file's, not white space that may be changed."""


def _split_words(text: str) -> list[str]:
    return _WORDS.findall(text)


def _match_equal_words(one: Sequence[str], other: Sequence[str]) -> Iterator[tuple[int, int]]:
    from difflib import SequenceMatcher

    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield from ((block.a + i, block.b + i) for i in range(block.size))


def _find_replaced_words(base: Sequence[str], ours: Sequence[str]) -> list[tuple[int, int, list[str]]]:
    from difflib import SequenceMatcher

    codes = SequenceMatcher(None, base, ours, autojunk=False).get_opcodes()
    return [
        (a, b, list(ours[c:d]))
        for tag, a, b, c, d in codes
        if tag != "equal" and any(word.strip(" \t") for word in [*base[a:b], *ours[c:d]])
    ]


def pair_versions(
    lines: Sequence[Line], removed: Sequence[int], added: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield (added, removed) lines that are versions of one another, in order."""
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
