"""Line numbers that a model copied into `old`: the ambiguity they leave, and the place they name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from tools.edit.edit_model import Hunk, Line
from tools.edit.formats.cleanup import parse_first_line_number, strip_line_numbers
from tools.edit.match import exact_match
from tools.edit.match.matchers import Source
from tools.edit.parse.readings import NUMBERED, split_reading, strip_numbers_keeping_space
from tools.edit.refusal import EditRefused, format_several_places
from tools.edit.stage_values import Reading

_WAYS: Sequence[Callable[[str, str], str | None]] = (strip_line_numbers, strip_numbers_keeping_space)


def filter_by_line_numbers(source: Source, given: str, options: list[Reading]) -> list[Reading]:
    """Drop the readings at another place than the numbers name, where the space after a number may belong to
    the number or to the line, which makes two places. Raises EditRefused where the numbers do not decide, or
    where the same lines except for white space occur at the named place.

    given: `old` with its numbers
    """
    numbered = [each for each in options if NUMBERED in each.note]
    stand = [(each, _find_rows(source, split_reading(each, literal=False)[0])) for each in numbered]
    stand = [(each, sites) for each, sites in stand if sites]
    if not stand:
        return options
    _, said = _choose_numbered_lines(
        source, given, [(split_reading(each, literal=False)[0], sites) for each, sites in stand]
    )
    others = [each for each, sites in stand if len(stand) > 1 and said not in sites]
    return [each for each in options if each not in others]


def strip_hunk_numbers(source: Source, hunk: Hunk) -> list[Reading]:
    """Return the hunk without line numbers that were copied after the marks. Raises EditRefused as above."""
    given = "\n".join(hunk.old)
    found = [(plain.split("\n"), undo) for undo in _WAYS if (plain := undo(given, "")) is not None]
    if not found:
        return []
    ways = found if found[0][0] != found[-1][0] else found[:1]
    stand = [(old, sites) for old, _ in ways if (sites := _find_rows(source, old))]
    wanted, undo = found[0]
    if stand:
        wanted, _ = _choose_numbered_lines(source, given, stand)
        undo = next(undo for old, undo in found if old == wanted)
    old = iter(wanted)
    lines = []
    for line in hunk.lines:
        if line.op == "+":
            lines.append(Line("+", undo(line.text, given) or line.text))
        else:
            lines.append(Line(line.op, next(old)))
    return [Reading(note=NUMBERED, marked=replace(hunk, lines=tuple(lines)))]


def _find_rows(source: Source, lines: Sequence[str]) -> list[int]:
    return exact_match.find_whole_lines(source.text, lines)


def _choose_numbered_lines(
    source: Source, given: str, stand: Sequence[tuple[list[str], list[int]]]
) -> tuple[list[str], int | None]:
    """Return the intended lines, and the row that the numbers name, from 0, if any. Raises EditRefused."""
    number = parse_first_line_number(given)
    said = number - 1 if number else None
    places = sorted({site for _, sites in stand for site in sites})
    meant = [lines for lines, sites in stand if said in sites]
    if len(meant) == 1:
        return meant[0], said
    how = " (with and without the space behind the numbers)"
    if len(stand) > 1:
        raise EditRefused(format_several_places(source, places, how))
    wanted = stand[0][0]
    if said is not None and _remove_white_space(
        source.lines[said : said + len(wanted)]
    ) == _remove_white_space(wanted):
        raise EditRefused(
            format_several_places(source, sorted({said, *places}), " (the first number names another)")
        )
    return wanted, said


def _remove_white_space(lines: Sequence[str]) -> list[str]:
    return ["".join(each.split()) for each in lines]
