"""How models copy what they read, one slip for each rung of the ladder, done to the lines of a true edit."""

from __future__ import annotations

from collections.abc import Callable

from tests.tools.edit.drawn import Drawn
from tools.edit.edit_model import Line

Slip = Callable[[Drawn], list[Line]]


def exactly(edit: Drawn) -> list[Line]:
    return list(edit.diff)


def trailing_space(edit: Drawn) -> list[Line]:
    return [Line(op, text if op == "+" or not text.strip() else f"{text}  ") for op, text in edit.diff]


def less_indentation(edit: Drawn) -> list[Line]:
    """One level less where all lines have one, else one level more."""
    lines = edit.diff
    if all(text.startswith(edit.unit) for _, text in lines if text.strip()):
        return [Line(op, text.removeprefix(edit.unit)) for op, text in lines]
    return [Line(op, edit.unit + text if text.strip() else text) for op, text in lines]


def other_indentation(edit: Drawn) -> list[Line]:
    """Tabs for spaces, four spaces for tabs."""
    other = "    " if edit.unit == "\t" else "\t"
    lines = []
    for op, text in edit.diff:
        depth, rest = 0, text
        while rest.startswith(edit.unit):
            depth, rest = depth + 1, rest.removeprefix(edit.unit)
        lines.append(Line(op, other * depth + rest))
    return lines


def curly_quotes(edit: Drawn) -> list[Line]:
    return [Line(op, text if op == "+" else text.translate(_CURLY)) for op, text in edit.diff]


def other_white_space(edit: Drawn) -> list[Line]:
    """Around operators in what is there; new lines stay as they are."""
    return [
        Line(op, text if op == "+" else text.replace(" = ", "=").replace("(", "( ")) for op, text in edit.diff
    ]


def no_blank_lines(edit: Drawn) -> list[Line]:
    """But for those beside what changes: without them it would be another place that is said."""
    lines = list(edit.diff)
    changed = [i for i, line in enumerate(lines) if line.op != " "]
    first, last = changed[0], changed[-1]
    while first and not lines[first - 1].text.strip():
        first -= 1
    while last + 1 < len(lines) and not lines[last + 1].text.strip():
        last += 1
    return [line for i, line in enumerate(lines) if first <= i <= last or line.text.strip()]


def elided_middle(edit: Drawn) -> list[Line]:
    """The second line of context is left out."""
    lines = list(edit.diff)
    lines[1] = Line(" ", f"{_indent(lines[1].text)}...")
    return lines


def reworded_context(edit: Drawn) -> list[Line]:
    """One word of the first line of context is another."""
    lines = list(edit.diff)
    words = lines[0].text.split(" ")
    lines[0] = Line(" ", " ".join([*words[:-1], "remembered" if len(words) > 1 else words[0]]))
    return lines


SLIPS: tuple[Slip, ...] = (
    exactly,
    trailing_space,
    less_indentation,
    other_indentation,
    curly_quotes,
    other_white_space,
    no_blank_lines,
    elided_middle,
    reworded_context,
)
"""From the first rung to the last."""

_CURLY = {ord("'"): "’", ord('"'): "”", ord("-"): "–"}


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
