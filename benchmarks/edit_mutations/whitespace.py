"""White space as models get it wrong: indentation, tabs, line ends, blank lines, spaces within lines.

Each perturbation takes a draft and writes it otherwise, or gives None where it does not apply: also where the
added lines could not be told from it any more. Blank lines and white space of added lines are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from benchmarks.edit_mutations.draft import Draft, inserted, new_lines, old_lines, squeezed, texts
from tools.edit.edit_model import Line

UNITS = (4, 2, 8)
"""Widths of one level of indentation that models take a tab for, the most frequent first."""


def unindented(rng: Random, draft: Draft) -> Draft | None:
    """The indentation that all lines share is gone."""
    shared = _shared(draft.given)
    return _outdented(draft, len(shared), "unindented") if shared else None


def outdented(rng: Random, draft: Draft) -> Draft | None:
    """A part of the indentation that all lines share is gone."""
    shared = _shared(draft.given)
    if len(shared) < 2:
        return None
    return _outdented(draft, rng.randrange(1, len(shared)), "outdented")


def indented(rng: Random, draft: Draft) -> Draft | None:
    """All lines are indented by more."""
    if _blank_but_not_empty(draft.given) or not _old_text(draft.given):
        return None
    tabs = any(line.text.startswith("\t") for line in draft.given)
    more = "\t" * rng.randint(1, 2) if tabs else " " * rng.choice((4, 2, 8, 1))
    ops = [line._replace(text=more + line.text if line.text.strip() else line.text) for line in draft.given]
    return draft.written(ops, f"{more!r} before each line")


def first_line_unindented(rng: Random, draft: Draft) -> Draft | None:
    """The first line has lost its indentation, as where a quotation begins with the text."""
    old, new = old_lines(draft.given), new_lines(draft.given)
    if not new or not leading(old[0]) or leading(old[0]) != leading(new[0]) or not old[0].strip():
        return None
    first = {next(i for i, line in enumerate(draft.given) if line.op != op) for op in "+-"}
    if len(first) > 1 and draft.given[max(first)].op == " ":
        return None  # that of `new` is a later one of `old`, which has not lost any
    ops = [
        line._replace(text=line.text.lstrip()) if index in first else line
        for index, line in enumerate(draft.given)
    ]
    if not new[0].strip() or len(old) < 2:
        return None
    return draft.written(ops, "first line not indented")


def tabs_as_spaces(rng: Random, draft: Draft) -> Draft | None:
    """Spaces where the file has tabs."""
    unit = rng.choice(UNITS)

    def spaced(text: str) -> str:
        return re.sub(r"^\t+", lambda tabs: " " * unit * len(tabs[0]), text)

    def back(text: str) -> str:
        wide = len(leading(text))
        return "\t" * (wide // unit) + " " * (wide % unit) + text.lstrip(" ")

    return _converted(draft, spaced, back, f"tabs as {unit} spaces")


def spaces_as_tabs(rng: Random, draft: Draft) -> Draft | None:
    """Tabs where the file has spaces."""
    widths = [len(leading(line)) for line in old_lines(draft.given) if line.strip() and line[0] == " "]
    fitting = [unit for unit in UNITS if widths and all(width % unit == 0 for width in widths)]
    if not fitting:
        return None
    unit = fitting[0] if rng.random() < 0.8 else rng.choice(fitting)

    def tabbed(text: str) -> str:
        wide = len(leading(text)) if "\t" not in leading(text) else 0
        return "\t" * (wide // unit) + text[wide // unit * unit :]

    def back(text: str) -> str:
        return re.sub(r"^\t+", lambda tabs: " " * unit * len(tabs[0]), text)

    return _converted(draft, tabbed, back, f"{unit} spaces as a tab")


def trailing_lost(rng: Random, draft: Draft) -> Draft | None:
    """White space at the ends of the file's lines is not quoted."""
    return remapped(draft, str.rstrip, "trailing white space not quoted")


def trailing_added(rng: Random, draft: Draft) -> Draft | None:
    """White space at the ends of quoted lines that have none."""
    more = rng.choice((" ", "  ", "\t"))
    often = rng.choice((1.0, 0.4))
    return remapped(
        draft, lambda text: text + more if rng.random() < often else text, "trailing white space added"
    )


def runs_collapsed(rng: Random, draft: Draft) -> Draft | None:
    """Columns are not kept: one space for several."""
    return remapped(
        draft, lambda text: leading(text) + re.sub(r"\s{2,}", " ", text.lstrip()), "columns not kept"
    )


def spaced_out(rng: Random, draft: Draft) -> Draft | None:
    """Spaces around operators and after commas where the file has none."""

    def looser(text: str) -> str:
        return leading(text) + re.sub(
            r"(?<=\w)([=+*/<>,:(){}\[\]-])(?=\w)",
            lambda sign: f" {sign[1]} " if rng.random() < 0.7 else sign[1],
            text.lstrip(),
        )

    return remapped(draft, looser, "spaces around operators")


def tightened(rng: Random, draft: Draft) -> Draft | None:
    """No spaces around operators and after commas where the file has them."""

    def tighter(text: str) -> str:
        return leading(text) + re.sub(
            r" *([=+*/<>,:(){}\[\]-]) *",
            lambda sign: sign[1] if rng.random() < 0.7 else sign[0],
            text.strip(),
        )

    return remapped(draft, tighter, "no spaces around operators")


def blank_dropped(rng: Random, draft: Draft) -> Draft | None:
    """Blank lines of the file are not quoted."""
    ops = draft.given
    blank = [
        index
        for index, line in enumerate(ops)
        if not line.text.strip() and line.op != "+" and _interior(ops, index) and sure(ops, index)
    ]
    if not blank:
        return None
    gone = set(blank if rng.random() < 0.6 else rng.sample(blank, 1))
    kept = [line for index, line in enumerate(ops) if index not in gone]
    return draft.written(kept, f"{len(gone)} blank lines not quoted")


def blank_added(rng: Random, draft: Draft) -> Draft | None:
    """A blank line among the quoted ones that the file does not have."""
    return inserted(rng, draft, lambda below: "", "a blank line too many")


def blank_around(rng: Random, draft: Draft) -> Draft | None:
    """Blank lines before and after, both in what is to be found and in what is to stand there."""
    before, after = rng.choice(((1, 1), (1, 0), (0, 1), (2, 1)))
    if not _text_around(draft):
        return None
    blank = Line(" ", "")
    return draft.written([*[blank] * before, *draft.given, *[blank] * after], "blank lines around")


def blank_before_old(rng: Random, draft: Draft) -> Draft | None:
    """A blank line before what is to be found, and none before what is to stand there."""
    if not _text_around(draft):
        return None
    return draft.written([Line("-", ""), *draft.given], "a blank line before the old text")


def leading(text: str) -> str:
    """A line's indentation."""
    return text[: len(text) - len(text.lstrip())]


def remapped(draft: Draft, change: Callable[[str], str], note: str) -> Draft | None:
    """Context and removed lines changed, added ones not. None if nothing changes or if a removed line comes
    to be an added one: then it is no longer said that it goes."""
    added = {squeezed(text) for text in texts(draft.given, "+")}
    ops = []
    for line in draft.given:
        text = line.text if line.op == "+" or not line.text.strip() else change(line.text)
        if text != line.text and line.op == "-" and squeezed(text) in added:
            return None
        ops.append(line._replace(text=text))
    return draft.written(ops, note) if ops != list(draft.given) else None


def sure(ops: Sequence[Line], index: int) -> bool:
    """If this quoted line is left out (or another put before it), it can still be told where the added lines go.

    It cannot where lines are put in between: before or after the line that is not quoted? Where they replace
    others, they stand in the place of those. Nor can it where a line is moved from one side of it to the other: without
    it, nothing says so.
    """
    before, after = ops[:index], ops[index + 1 :]
    if _texts(before, "-") & _texts(after, "+") or _texts(after, "-") & _texts(before, "+"):
        return False
    return all(
        group == []
        or (any(line.op == "-" and line.text.strip() for line in group) and not _blank_edge(group))
        for group in (_group(ops, index, -1), _group(ops, index, 1))
    )


def _texts(ops: Sequence[Line], op: str) -> set[str]:
    return {squeezed(line.text) for line in ops if line.op == op and line.text.strip()}


def _group(ops: Sequence[Line], index: int, step: int) -> list[Line]:
    """The changed lines beside a context line, with blank context in between passed over."""
    if ops[index].op == "-":
        return []
    index += step
    while 0 <= index < len(ops) and ops[index].op == " " and not ops[index].text.strip():
        index += step
    group = []
    while 0 <= index < len(ops) and ops[index].op != " ":
        group.append(ops[index])
        index += step
    return group


def _blank_edge(group: Sequence[Line]) -> bool:
    """Blank lines come or go at an edge of the group."""
    return any(not line.text.strip() for line in group)


def _interior(ops: Sequence[Line], index: int) -> bool:
    """A quoted line with text stands before and after, and no added line next to a removed one of it."""
    if ops[index].op == "-":
        around = (ops[index - 1] if index else None, ops[index + 1] if index + 1 < len(ops) else None)
        return all(line is not None and line.op == "-" and line.text.strip() for line in around)
    old = [line.op != "+" and bool(line.text.strip()) for line in ops]
    return any(old[:index]) and any(old[index + 1 :])


def _text_around(draft: Draft) -> bool:
    """Old and new begin and end with text, and so do the file's lines next to the place."""
    lines, old, new = draft.text.lines, old_lines(draft.given), new_lines(draft.given)
    beside = [lines[index] for index in (draft.start - 1, draft.stop) if 0 <= index < len(lines)]
    edges = [*beside, *(side[edge] for side in (old, new) for edge in (0, -1) if side)]
    return len(beside) == 2 and bool(new) and all(text.strip() for text in edges)


def _blank_but_not_empty(ops: Sequence[Line]) -> bool:
    """An added line is of white space alone: whether it changed with the others can't be told."""
    return any(text and not text.strip() for text in texts(ops, "+"))


def _old_text(ops: Sequence[Line]) -> bool:
    """An old line has text: it tells by how much all are indented otherwise."""
    return any(text.strip() for text in old_lines(ops))


def _shared(ops: Sequence[Line]) -> str:
    """The indentation that all lines with text share."""
    if _blank_but_not_empty(ops) or not _old_text(ops):
        return ""
    indents = [leading(line.text) for line in ops if line.text.strip()]
    least, most = min(indents, default=""), max(indents, default="")
    return least[: next((i for i, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))]


def _outdented(draft: Draft, by: int, note: str) -> Draft:
    ops = [line._replace(text=line.text[by:] if line.text.strip() else line.text) for line in draft.given]
    return draft.written(ops, f"{note} by {by}")


def _converted(
    draft: Draft, change: Callable[[str], str], back: Callable[[str], str], note: str
) -> Draft | None:
    """All lines converted, the added ones only if they can be converted back."""
    ops = [Line(line.op, change(line.text) if line.text.strip() else line.text) for line in draft.given]
    pairs = list(zip(draft.given, ops, strict=True))
    if not any(a.text != b.text for a, b in pairs if a.op != "+") or _blank_but_not_empty(ops):
        return None
    if any(back(b.text) != a.text for a, b in pairs if a.op == "+" and a.text.strip()):
        return None
    return draft.written(ops, note)
