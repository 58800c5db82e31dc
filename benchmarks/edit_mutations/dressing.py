"""What stands around the lines when models quote them: line numbers, fences, escapes, no last line ending."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random

from benchmarks.edit_mutations.draft import Draft, new_lines, old_lines
from benchmarks.edit_mutations.draft import plain as _plain

NUMBERED = ("{:>6}\t{}", "{}: {}", "{}|{}", "{:>4} | {}", "{:4d}: {}")
"""How programs number the lines they show, and models copy them."""

FENCES = ("```", "```python", "```diff", "~~~", "```ts")
"""Opening lines of a fenced block."""


def numbered(rng: Random, draft: Draft) -> Draft | None:
    """Each line has its number in front, in the new text too."""
    form = rng.choice(NUMBERED)

    def dress(lines: Sequence[str], first: int) -> str:
        return "".join(form.format(number, line) + "\n" for number, line in enumerate(lines, first))

    return draft.dressed(dress, f"numbered as {form!r}")


def old_numbered(rng: Random, draft: Draft) -> Draft | None:
    """Each line to be found has its number in front, the new ones have none."""
    form = rng.choice(NUMBERED)
    old = old_lines(draft.given)

    def dress(lines: Sequence[str], first: int) -> str:
        if tuple(lines) != old:
            return _plain(lines, first)
        return "".join(form.format(number, line) + "\n" for number, line in enumerate(lines, first))

    return draft.dressed(dress, f"old lines numbered as {form!r}")


def fenced(rng: Random, draft: Draft) -> Draft | None:
    """Old and new text each stand in a fence."""
    fence = rng.choice(FENCES)
    mark = fence[:3]
    if any(mark in line.text for line in draft.given):
        return None
    return draft.dressed(
        lambda lines, first: f"{fence}\n{_plain(lines, first)}{mark}\n", f"fenced with {fence}"
    )


def escaped(rng: Random, draft: Draft) -> Draft | None:
    """Escaped once too often: one line with backslashes and letters for line endings, tabs and quotes."""
    if any("\\" in line.text for line in draft.given) or len(old_lines(draft.given)) < 2:
        return None
    return draft.dressed(
        lambda lines, first: json.dumps(_plain(lines, first), ensure_ascii=False)[1:-1], "escaped twice"
    )


def line_ends_escaped(rng: Random, draft: Draft) -> Draft | None:
    """Backslash and n for line endings, all else as it is."""
    if any("\\" in line.text for line in draft.given) or len(old_lines(draft.given)) < 2 or _blank_end(draft):
        return None
    return draft.dressed(lambda lines, first: "\\n".join(lines), "line endings escaped")


def unended(rng: Random, draft: Draft) -> Draft | None:
    """No line ending after the last line, in old and new."""
    if _blank_end(draft):
        return None
    return draft.dressed(lambda lines, first: "\n".join(lines), "no last line ending")


def crlf(rng: Random, draft: Draft) -> Draft | None:
    """The other line endings than the file's."""
    ending = "\n" if draft.source.newline == "\r\n" else "\r\n"
    if ending == "\n":
        return None
    return draft.dressed(
        lambda lines, first: "".join(line + ending for line in lines), "ended with CR and LF"
    )


def _blank_end(draft: Draft) -> bool:
    """Without its line ending the last line would be no line: nobody could tell that it is meant."""
    return any(not side or not side[-1] for side in (old_lines(draft.given), new_lines(draft.given)))
