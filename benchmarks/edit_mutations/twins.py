"""Files that hold the place twice, or nearly so: where a tolerant matcher goes wrong.

These change the file, not what is written: a copy of the hunk's surroundings stands elsewhere, exactly or with
a word changed, before the place or after it. Combined with the other perturbations they are the traps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from random import Random

from benchmarks.edit_mutations.draft import Draft, Text, old_lines, squeezed, texts
from benchmarks.edit_mutations.wording import OTHER_WORDS
from tools.edit.edit_model import Line

GLUED = ("max", "un", "my", "_")
"""What makes another name of a name when it stands right before it."""


def duplicated(rng: Random, draft: Draft) -> Draft | None:
    """The old lines, and up to three more on each side, stand at another place too."""
    before, after = rng.randint(0, 3), rng.randint(0, 3)
    copy = draft.text.lines[max(0, draft.start - before) : draft.stop + after]
    return _with_copy(rng, draft, copy, "the place stands twice")


def removed_duplicated(rng: Random, draft: Draft) -> Draft | None:
    """What is to be removed stands at another place too, in other company."""
    copy = texts(draft.truth, "-")
    if not any(text.strip() for text in copy) or len(copy) == len(old_lines(draft.truth)):
        return None
    return _with_copy(rng, draft, copy, "the removed lines stand twice")


def duplicated_deeper(rng: Random, draft: Draft) -> Draft | None:
    """The old lines stand at another place too, indented by more."""
    more = "\t" if any(text.startswith("\t") for text in draft.text.lines) else "    "
    copy = [more + text if text.strip() else text for text in old_lines(draft.truth)]
    return _with_copy(rng, draft, copy, "the place stands twice, once deeper")


def near_twin(rng: Random, draft: Draft) -> Draft | None:
    """The old lines stand at another place too, with one word changed."""
    copy = list(old_lines(draft.truth))
    named = [index for index, text in enumerate(copy) if re.search(r"[A-Za-z_]{3}", text)]
    if not named:
        return None
    index = rng.choice(named)
    words = list(re.finditer(r"[A-Za-z_]\w{2,}", copy[index]))
    if not words:
        return None
    word = rng.choice(words)
    others = (f"{word[0]}_{rng.choice(OTHER_WORDS)}", rng.choice(OTHER_WORDS), word[0][:-1], word[0] + "2")
    other = rng.choice([each for each in others if each != word[0]])
    copy[index] = copy[index][: word.start()] + other + copy[index][word.end() :]
    return _with_copy(rng, draft, copy, f"a near twin has {other!r} for {word[0]!r}")


def glued_twin(rng: Random, draft: Draft) -> Draft | None:
    """The old text stands at another place too, but there it begins within a longer name (`x = 1`, `maxx = 1`)."""
    first, *rest = old_lines(draft.truth)
    if not re.match(r"[A-Za-z_]", first):
        return None
    return _with_copy(rng, draft, [rng.choice(GLUED) + first, *rest], "a twin begins within a longer name")


def contested(rng: Random, draft: Draft) -> Draft | None:
    """The place and its near twin differ in one word, and what is written has a third there."""
    names = [
        (index, word)
        for index, line in enumerate(draft.given)
        if line.op != "+"
        for word in re.finditer(r"[A-Za-z_]\w{3,}", line.text)
    ]
    if draft.given != draft.truth or not names:
        return None
    index, word = rng.choice(names)
    line = draft.given[index]
    a, b = rng.sample(OTHER_WORDS, 2)
    if word[0] in (a, b):
        return None
    written, twin = (line.text[: word.start()] + other + line.text[word.end() :] for other in (a, b))
    if squeezed(written) in {squeezed(text) for text in texts(draft.given, "+")}:
        return None
    copy = list(old_lines(draft.truth))
    copy[sum(other.op != "+" for other in draft.given[:index])] = twin
    changed = _with_copy(rng, draft, copy, f"{a!r} is written, {word[0]!r} and {b!r} stand there")
    if changed is None:
        return None
    torn = replace(changed, torn=True)
    return torn.written([*draft.given[:index], line._replace(text=written), *draft.given[index + 1 :]])


def within_a_name(rng: Random, draft: Draft) -> Draft | None:
    """A line is to be replaced that only stands within a longer name (`x = 1` where the file has `maxx = 1`).

    Not where its text is a part of another line: there it stands, and whoever replaces parts of lines finds it.
    """
    ops = tuple(line for line in draft.truth if line.op != " ")
    removed = texts(ops, "-")
    if len(removed) != 1 or not re.match(r"\s*[A-Za-z_]\w*\W", removed[0]):
        return None
    text = removed[0].strip()
    ops = tuple(
        line._replace(text=text) if line.op == "-" else line._replace(text=line.text.strip()) for line in ops
    )
    at = draft.text.lines.index(removed[0])
    longer = removed[0].replace(text, rng.choice(GLUED) + text, 1)
    lines = (*draft.text.lines[:at], longer, *draft.text.lines[at + 1 :])
    if any(squeezed(text) == squeezed(line) or (text in line and line != longer) for line in lines):
        return None
    truth = (Line("-", longer), *(line for line in ops if line.op == "+"))
    return replace(
        draft,
        text=Text(lines),
        start=at,
        truth=truth,
        given=ops,
        meant=False,
        note="only within a longer name",
    )


def _with_copy(rng: Random, draft: Draft, copy: Sequence[str], note: str) -> Draft | None:
    """The file with these lines put in elsewhere, well away from the place."""
    lines = draft.text.lines
    away = 6
    places = [*range(max(0, draft.start - away)), *range(draft.stop + away + 1, len(lines) + 1)]
    if not places:
        places = [len(lines)] if len(lines) > draft.stop else []
    if not places or not copy:
        return None
    place = rng.choice(places)
    start = draft.start + len(copy) if place <= draft.start else draft.start
    where = "before" if place <= draft.start else "after"
    return draft.on(Text((*lines[:place], *copy, *lines[place:])), start, f"{note} ({where})")
