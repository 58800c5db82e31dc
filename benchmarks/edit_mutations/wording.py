"""Words and lines as models get them wrong: drift, typos, look-alike characters, too little or too much quoted."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from benchmarks.edit_mutations.draft import (
    PUNCTUATION,
    Draft,
    inserted,
    joined,
    old_lines,
    squeezed,
    texts,
    widened,
)
from benchmarks.edit_mutations.whitespace import leading, remapped, sure
from tools.edit.edit_model import Line

COMMENT = re.compile(r"\s*(#|//|\*|--|<!--|\"\"\")")
"""What a comment begins with, in most languages."""

OTHER_WORDS = (
    "data",
    "value",
    "result",
    "items",
    "config",
    "handler",
    "context",
    "options",
    "current",
    "name",
)
"""Words that a model is likely to remember instead of the right one."""

INVENTED = ("}", "return result", "pass", "// end", "# TODO", "});", "end", "return None", "this.init();")
"""Lines that a model is likely to believe to stand next to what it quotes."""

CURLY = {"'": "\u2019", '"': "\u201d", "-": "\u2013"}
"""What a word processor makes of plain characters."""


def word_drifted(rng: Random, draft: Draft) -> Draft | None:
    """One word of a context line is another."""
    return _one_line(
        rng, draft, " ", lambda text: _other_word(rng, text), "a word of a context line is another"
    )


def comment_reworded(rng: Random, draft: Draft) -> Draft | None:
    """A comment among the context lines says it otherwise."""

    def reworded(text: str) -> str:
        words = text.split(" ")
        own = [index for index, word in enumerate(words) if re.fullmatch(r"[A-Za-z]{3,}[.,:]?", word)]
        if not COMMENT.match(text) or len(own) < 3:
            return text
        for index in rng.sample(own, min(len(own), rng.randint(1, 3))):
            words[index] = rng.choice(OTHER_WORDS)
        return " ".join(words)

    return _one_line(rng, draft, " ", reworded, "a comment in the context is reworded")


def typo(rng: Random, draft: Draft) -> Draft | None:
    """A small slip in a line that is to be removed."""
    added = {squeezed(text) for text in texts(draft.given, "+")}

    def slipped(text: str) -> str:
        words = list(re.finditer(r"[A-Za-z_]{4,}", text))
        if not words:
            return text
        word = rng.choice(words)
        at = rng.randrange(word.start() + 1, word.end() - 1)
        a, b = text[at], text[at + 1]
        other = rng.choice(
            (text[:at] + b + a + text[at + 2 :], text[:at] + text[at + 1 :], text[:at] + a + text[at:])
        )
        return text if squeezed(other) in added else other

    return _one_line(rng, draft, "-", slipped, "a slip in a removed line")


def line_missing(rng: Random, draft: Draft) -> Draft | None:
    """A context line in the middle is not quoted."""
    ops = draft.given
    can = [
        index
        for index in range(1, len(ops) - 1)
        if ops[index].op == " " and ops[index].text.strip() and sure(ops, index) and _between(ops, index)
    ]
    if not can:
        return None
    gone = rng.choice(can)
    return draft.written([*ops[:gone], *ops[gone + 1 :]], "a context line is missing")


def line_invented(rng: Random, draft: Draft) -> Draft | None:
    """A context line in the middle that the file does not have."""
    return inserted(
        rng, draft, lambda below: leading(below) + rng.choice(INVENTED), "a context line is invented"
    )


def wrong_ends(rng: Random, draft: Draft) -> Draft | None:
    """One or two lines too many before or after, which are not the file's."""
    at_start = rng.random() < 0.5
    edge = draft.given[0 if at_start else -1]
    indent = leading(edge.text)
    wrong = [Line(" ", indent + text) for text in rng.sample(INVENTED, rng.randint(1, 2))]
    beside = (
        draft.text.lines[draft.start - 1 : draft.start] if at_start else draft.text.lines[draft.stop :][:1]
    )
    if edge.op != " " or {squeezed(line.text) for line in wrong} & set(map(squeezed, beside)):
        return None
    ops = [*wrong, *draft.given] if at_start else [*draft.given, *wrong]
    return draft.written(ops, f"{len(wrong)} lines too many at an end")


def truncated(rng: Random, draft: Draft) -> Draft | None:
    """Less context than was meant to be quoted: none before, none after or none at all."""
    ops = list(draft.given)
    first = next(index for index, line in enumerate(ops) if line.op != " ")
    last = max(index for index, line in enumerate(ops) if line.op != " ")
    which = rng.choice(("before", "after", "both"))
    start = first if which != "after" else 0
    kept = ops[start : last + 1 if which != "before" else len(ops)]
    if len(kept) == len(ops) or not any(line.op != "+" and line.text.strip() for line in kept):
        return None
    moved = replace(draft, start=draft.start + start, truth=tuple(kept), given=tuple(kept))
    return (
        replace(moved, note=joined(draft.note, f"no context {which}")) if draft.given == draft.truth else None
    )


def curly(rng: Random, draft: Draft) -> Draft | None:
    """Curly quotes and long dashes in what is quoted."""
    return remapped(draft, _curled, "curly quotes in quoted lines")


def curly_throughout(rng: Random, draft: Draft) -> Draft | None:
    """Curly quotes and long dashes throughout, where the quoted lines tell that plain ones are meant."""
    kinds, needed = _bent(old_lines(draft.given)), _bent(texts(draft.given, "+"))
    if (
        not kinds
        or not needed <= kinds
        or any(text != text.translate(PUNCTUATION) for text in draft.text.lines)
    ):
        return None
    return draft.written(
        [line._replace(text=_curled(line.text)) for line in draft.given], "curly quotes throughout"
    )


def straightened(rng: Random, draft: Draft) -> Draft | None:
    """Plain characters where the file has curly quotes, long dashes, no-break spaces."""
    return remapped(draft, lambda text: text.translate(PUNCTUATION), "plain characters for the file's")


def no_break_spaces(rng: Random, draft: Draft) -> Draft | None:
    """No-break spaces for spaces within quoted lines."""
    return remapped(
        draft, lambda text: leading(text) + text.lstrip().replace(" ", "\u00a0"), "no-break spaces for spaces"
    )


def elided(rng: Random, draft: Draft) -> Draft | None:
    """`...` for the middle of the context, both in the old and the new lines."""
    if draft.given != draft.truth:
        return None
    wide = widened(draft, *rng.choice(((8, 2), (2, 8), (6, 6))))
    runs = _runs(wide.given)
    if not runs:
        return None
    start, stop = rng.choice(runs)
    first, last = start + 1 + rng.randint(0, 1), stop - 1 - rng.randint(0, 1)
    if last - first < 2 or not wide.given[first - 1].text.strip() or not wide.given[last].text.strip():
        return None
    dots = Line(" ", rng.choice(("", leading(wide.given[first].text))) + "...")
    ops = [*wide.given[:first], dots, *wide.given[last:]]
    return replace(wide, elided=True).written(ops, f"{last - first} lines as ...")


def removed_elided(rng: Random, draft: Draft) -> Draft | None:
    """`...` for the middle of what is to be removed."""
    ops = draft.given
    runs = _runs(ops, "-")
    if not runs:
        return None
    start, stop = rng.choice(runs)
    if stop - start < 5:
        return None
    dots = Line("-", rng.choice(("", leading(ops[start + 2].text))) + "...")
    kept = [*ops[: start + 2], dots, *ops[stop - 2 :]]
    return replace(draft, elided=True).written(kept, f"{stop - start - 4} removed lines as ...")


def _one_line(rng: Random, draft: Draft, op: str, change: Callable[[str], str], note: str) -> Draft | None:
    """One line of this kind changed, drawn among those that do change."""
    ops = list(draft.given)
    order = [index for index, line in enumerate(ops) if line.op == op and line.text.strip()]
    rng.shuffle(order)
    for index in order:
        text = change(ops[index].text)
        if squeezed(text) != squeezed(ops[index].text):
            ops[index] = ops[index]._replace(text=text)
            return draft.written(ops, note)
    return None


def _other_word(rng: Random, text: str) -> str:
    words = list(re.finditer(r"[A-Za-z_][A-Za-z_0-9]{2,}", text))
    if not words:
        return text
    word = rng.choice(words)
    old = word[0]
    other = rng.choice(
        (old + "s", old[:-1], rng.choice(OTHER_WORDS), old.swapcase(), f"{old}_{rng.choice(OTHER_WORDS)}")
    )
    return text[: word.start()] + other + text[word.end() :]


def _between(ops: Sequence[Line], index: int) -> bool:
    """Quoted lines with text stand before and after."""
    old = [line.op != "+" and bool(line.text.strip()) for line in ops]
    return any(old[:index]) and any(old[index + 1 :])


def _runs(ops: Sequence[Line], op: str = " ") -> list[tuple[int, int]]:
    """First and end index of each run of at least four such lines."""
    runs: list[tuple[int, int]] = []
    start = 0
    for index in range(len(ops) + 1):
        if index == len(ops) or ops[index].op != op:
            if index - start >= 4:
                runs.append((start, index))
            start = index + 1
    return runs


def _bent(lines: Sequence[str]) -> set[str]:
    """The plain characters that `_curled` bends there: those it leaves as they are tell nothing."""
    return {sign for line in lines for sign in CURLY if _curled(line).count(sign) < line.count(sign)}


def _curled(text: str) -> str:
    """As a word processor would write it: dashes only between spaces."""
    text = re.sub(r"(?<= )-(?= )", CURLY["-"], text)
    text = re.sub(r'(?<![\w])"(?=\w)', "\u201c", text)
    text = re.sub(r"(?<![\w])'(?=\w)", "\u2018", text)
    return text.replace('"', CURLY['"']).replace("'", CURLY["'"])
