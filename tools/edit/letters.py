"""Where old text stands to the letter: whether that is what is meant, or only looks so."""

from __future__ import annotations

from tools.edit.ladder import STEPS, Source, has_own_word, sites
from tools.edit.readings import Reading
from tools.edit.refusals import EditRefused, several


def is_shallow(text: str, start: int, old: str) -> bool:
    """Whole lines, of which the first stands deeper in the file than `old` has it: alike, not the same. What stands
    elsewhere at another depth is then as good a place, and only the matched lines tell how deep `new` belongs."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if old[0] == "\n":  # a blank line is meant, not the end of the line before
        return bool(before) and bool(old.strip("\n"))
    return bool(before) and old[0] in " \t" and rest_of_lines(text, start, old)


def refuse_twins(source: Source, start: int, reading: Reading) -> None:
    """Lines that stand to the letter once, and again but for blank lines: models drop those, so which is meant is
    not clear. Where only brackets and words like `end` are given, the same holds of another depth."""
    wanted = reading.old.removesuffix("\n").split("\n")
    longest = max((line.strip() for line in wanted), key=len)
    if len(wanted) < 2 or source.text.count(longest) < 2:
        return
    if has_own_word(reading.old) and not all(line.strip() for line in wanted[1:-1]):
        return  # it has blank lines, so none was dropped
    step = STEPS[2] if has_own_word(reading.old) else STEPS[4]
    found = sites(source, wanted, step)
    if len(found) > 1 and any(site.first <= source.line_at(start) < site.end for site in found):
        raise EditRefused(several(source, [site.first for site in found], f" ({step.rung})"))


def rest_of_lines(text: str, start: int, old: str) -> bool:
    """Whole lines but for the indentation of the first: when they go, it goes, too."""
    end = start + len(old)
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return not before.strip() and (old.endswith("\n") or end == len(text) or text[end] == "\n")
