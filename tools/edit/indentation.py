"""Map the model's indentation to the file's: inferred from matched lines, applied to added ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import gcd

from tools.edit.look_alikes import LOOK_ALIKES

Mapping = Callable[[str], str | None]
"""From the model's indentation of a line to the file's; None where the evidence does not decide."""


OPENERS = (":", "{", "(", "[", "do", "then", "=", ",", "+", "-", "*", "/", "&", "|", "?", "<", ">", "\\", ".")
"""Line endings after which a deeper line is natural: they open a block, or continue a line."""


WIDTHS = (2, 3, 4, 8)
"""Columns of one indentation level, as people and models write them."""


def indent_of(line: str) -> str:
    """Return the leading white space of a line."""
    return line[: len(line) - len(line.lstrip())]


def normalize_indent(text: str) -> str:
    """Return the indentation of a model's line, with look-alikes of a space as spaces."""
    indent = indent_of(text)
    return indent if indent.isascii() else indent.translate(LOOK_ALIKES)


def fit_indent_mapping(
    pairs: Iterable[tuple[str, str]], added: Sequence[str], file: Sequence[str], tabs: bool | None
) -> Mapping | None:
    """Return the mapping that satisfies every pair (model's indentation, file's), None if there is no simple
    one.

    added: the lines to be mapped, which show the model's unit
    file: the file's lines, which show its own
    tabs: the file is indented by tabs (True) or by spaces (False); None if by both
    """
    points = sorted(set(pairs), key=lambda pair: (len(pair[0]), pair[1]))
    if len({model for model, _ in points}) < len(points):
        return None  # one indentation maps to two: lines that were nested no longer are
    if any(m and m == f for m, f in points) and any(m != f for m, f in points):
        return None  # one is as deep as in the file and another is not: no unit of the model explains that
    given = [indent_of(line) for line in added if line.strip()]
    known = {model for model, _ in points}
    if not has_mixed_indentation(given, tabs):
        if mapping := fit_constant_shift(points):
            return None if _is_possibly_scaled(points, given, file) else mapping
    elif all(each in known for each in given):
        return dict(points).get
    return _fit_scale(points, given, file, tabs)


def is_tab_indented(lines: Iterable[str]) -> bool | None:
    """Return whether lines are indented by tabs (True) or by spaces (False); None if mixed or not at all.

    One space is no indentation: it aligns comments of C.
    """
    tabs = spaces = False
    for line in lines:
        if line.startswith("\t"):
            tabs = True
        elif line.startswith("  ") and line.strip():
            spaces = True
        if tabs and spaces:
            return None
    return tabs if tabs or spaces else None


def measure_indent_unit(lines: Iterable[str]) -> int:
    """Return the columns of one level in lines indented by spaces: the most frequent increase; 4 without any."""
    steps: Counter[int] = Counter()
    before = 0
    for line in lines:
        if not line.strip():
            continue
        width = len(indent_of(line))
        if width > before and width - before in WIDTHS:
            steps[width - before] += 1
        before = width
    return steps.most_common(1)[0][0] if steps else 4


def compute_min_bracket_depth(text: str) -> int:
    """Return the minimum bracket depth of a text: 0, or negative where the text leaves the block in which it
    begins.
    """
    least = depth = 0
    for character in text:
        if character in "({[":
            depth += 1
        elif character in ")}]":
            depth -= 1
            least = min(least, depth)
    return least


def has_mixed_indentation(given: Sequence[str], tabs: bool | None) -> bool:
    """Return whether the added lines have tabs where the file has spaces, or the other way round."""
    ours = is_tab_indented(f"{each}x" for each in given)
    return ours is not None and tabs is not None and ours != tabs


def fit_constant_shift(points: Sequence[tuple[str, str]]) -> Mapping | None:
    """Return the mapping that adds a constant prefix to the model's indentation or removes one; None if
    neither fits.
    """
    if not points:
        return lambda indent: indent
    model, there = points[0]
    if there.endswith(model):
        more = there[: len(there) - len(model)]
        if all(f == more + m for m, f in points):
            return lambda indent: more + indent
    if model.endswith(there):
        less = model[: len(model) - len(there)]
        if all(m == less + f for m, f in points):
            return lambda indent: indent[len(less) :] if indent.startswith(less) else None
    return None


def is_uniform_indent_change(points: Sequence[tuple[str, str]]) -> bool:
    """Return whether one slip explains all pairs: a constant shift, or levels of another width or kind."""
    if fit_constant_shift(points):
        return True
    (model, there), *_ = [pair for pair in points if any(pair)]
    kinds = ({character for pair in points for character in pair[side]} for side in (0, 1))
    return all(len(each) == 1 for each in kinds) and all(
        len(m) * len(there) == len(f) * len(model) for m, f in points
    )


def _is_possibly_scaled(points: Sequence[tuple[str, str]], given: Sequence[str], file: Sequence[str]) -> bool:
    """Return whether the only known depth allows both a shift and a scaling of another depth to whole levels
    of the file.

    Such a case is ambiguous where a step of the model's is no whole level, or its levels have a width that
    models write.
    """
    if len(points) != 1:
        return False
    mine, there = len(points[0][0]), len(points[0][1])
    steps = {len(each) - mine for each in given} - {0}
    if not mine or not there or mine == there or max(mine, there) % min(mine, there) or not steps:
        return False
    tabs = "\t" in points[0][1]
    unit = 1 if tabs else measure_indent_unit(file)
    stretched = all(step * there % mine == 0 and step * there // mine % unit == 0 for step in steps)
    as_wide = not tabs and any(width * there == unit * mine for width in WIDTHS)
    return stretched and (as_wide or any(step % unit for step in steps))


def _fit_scale(
    points: Sequence[tuple[str, str]], given: Sequence[str], file: Sequence[str], tabs: bool | None
) -> Mapping | None:
    """Return a mapping for levels of another width or kind: the file's columns are a linear function of the
    model's.
    """
    there = [f for _, f in points if f]
    if there:
        tabs = is_tab_indented(f"{each}x" for each in there)
    if any(set(each) - {"\t", " "} for pair in points for each in pair):
        return None
    if tabs is None or any(set(each) - ({"\t"} if tabs else {" "}) for each in there):
        return None
    widths = [(len(m.expandtabs(1)), len(f)) for m, f in points]
    mine = is_tab_indented(f"{each}x" for each in [*given, *(m for m, _ in points)])
    slope = _fit_slope(widths, given, file, mine, tabs)
    if slope is None:
        return None
    over, under = slope
    base_model, base_file = widths[0] if widths else (0, 0)
    kind = is_tab_indented(f"{m}x" for m, _ in points)
    character = "\t" if tabs else " "

    def map_indent(indent: str) -> str | None:
        aligned = " " if mine and indent.endswith(" ") and not indent.endswith("  ") else ""  # as " *" in C
        indent = indent.removesuffix(aligned)
        if len(set(indent)) > 1:
            return None  # tabs and spaces in one line: alignment, which has no level
        if indent and kind is not None and kind != (indent[0] == "\t"):
            narrow = tabs is False and indent[0] == " " and not (base_model or base_file)
            return indent if narrow else None  # too narrow for one of the model's levels
        columns = base_file * under + (len(indent) - base_model) * over
        return character * (columns // under) + aligned if columns >= 0 and columns % under == 0 else None

    return map_indent if all(map_indent(m) == f for m, f in points) else None


def _fit_slope(
    widths: Sequence[tuple[int, int]],
    given: Sequence[str],
    file: Sequence[str],
    mine: bool | None,
    tabs: bool,
) -> tuple[int, int] | None:
    """Return the file's columns per column of the model's, as a fraction (over, under)."""
    for model, there in widths[1:]:
        if model != widths[0][0]:
            over, under = there - widths[0][1], model - widths[0][0]
            if over <= 0 or under <= 0:
                return None
            common = gcd(over, under)
            return over // common, under // common
    base = widths[0] if widths else (0, 0)
    if mine == tabs or mine is None:
        return 1, 1
    if mine:  # the model's tabs in a file of spaces
        if base[0] and base[1]:
            wide = base[1] // base[0]
            moved = wide != measure_indent_unit(file) and any(len(each) != base[0] for each in given)
            return (wide, 1) if base[1] % base[0] == 0 and not moved else None  # else it may be less deep
        return measure_indent_unit(file), 1
    if base[0] and base[1]:  # the model's spaces in a file of tabs
        columns, over = divmod(base[0], base[1])
        measured = not over and columns in WIDTHS
        return (1, max(columns, 1)) if measured or all(len(each) == base[0] for each in given) else None
    steps = sorted({abs(len(each) - base[0]) for each in given} - {0})
    # without a pair to measure by, the smallest step is one level if all others are whole multiples of it
    if steps and steps[0] in WIDTHS and all(step % steps[0] == 0 for step in steps):
        return 1, steps[0]
    return None
