"""Where old text stands to the letter: whether that is what is meant, or only looks so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tools.edit.exact import line_sites
from tools.edit.formats.clean import unescaped
from tools.edit.ladder import STEPS, Rung, Site, Source, Step, has_own_word, sites
from tools.edit.refusals import EditRefused, several


def is_shallow(text: str, start: int, old: str) -> bool:
    """Whole lines, of which the first stands deeper in the file than `old` has it: alike, not the same. What stands
    elsewhere at another depth is then as good a place, and only the matched lines tell how deep `new` belongs."""
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if old[0] == "\n":  # a blank line is meant, not the end of the line before
        return bool(before) and bool(old.strip("\n"))
    return bool(before) and old[0] in " \t" and rest_of_lines(text, start, old)


def leaves_white_space(source: Source, start: int, old: str, new: str) -> bool:
    """Whole lines but for white space at the end of the last one, which goes, or stays as another than the last: to the
    letter that white space would be left to stand alone, or behind another line. Raises EditRefused if the last one is
    replaced by another: whether that is to end so is not clear. One line instead of one is a change within it."""
    text, end = source.text, start + len(old)
    line_end = text.find("\n", end)
    behind = text[end : line_end if line_end >= 0 else len(text)]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if not behind.isspace() or before.strip() or old.endswith("\n") or new.endswith(behind):
        return False
    (*others, last), lines = old.split("\n"), new.split("\n")
    if lines[-1].strip() == last.strip() or (new and not others and len(lines) == 1):
        return False
    if not new or last.strip() in map(str.strip, lines):
        return True
    raise EditRefused(
        f"line {source.line_at(end) + 1} ends in white space that `old` has not: give the line to its end, and the new "
        "one with what it is to end in"
    )


def twins(source: Source, wanted: Sequence[str], at: Step = STEPS[0]) -> tuple[Rung, list[Site]]:
    """Where lines that stand once, as the step `at` sees them, stand but for blank lines: models drop those, so which
    is meant is not clear if there are several. Where only brackets and words like `end` are given, to the letter, the
    same holds of another depth."""
    own = has_own_word("\n".join(wanted))
    to_the_letter = at.rung in (Rung.EXACT, Rung.TRAILING)
    step = replace(at, skips_blank=True) if not to_the_letter else STEPS[2] if own else STEPS[4]
    if own and (len(wanted) < 2 or not all(line.strip() for line in wanted[1:-1])):
        return step.rung, []  # it has blank lines, so none was dropped
    if to_the_letter and source.text.count(max((line.strip() for line in wanted), key=len)) < 2:
        return step.rung, []
    return step.rung, sites(source, wanted, step)


def refuse_seeming(source: Source, start: int, old: str, new: str) -> None:
    """For text that stands to the letter at `start`, and there alone: other lines may be meant all the same. Raises
    EditRefused."""
    refuse_twins(source, source.line_at(start), *twins(source, old.removesuffix("\n").split("\n")))
    _refuse_ended_lines(source, start, old)
    _refuse_cut_lines(source, start, old)
    _refuse_made_up_blank(source, old, new)
    _refuse_escaped_lines(source, start, old)


def refuse_twins(source: Source, line: int, rung: Rung, found: Sequence[Site]) -> None:
    """line: where the lines stand to the letter. found: the places that `twins` gives, or those of them that count"""
    if len(found) > 1 and any(site.first <= line < site.end for site in found):
        raise EditRefused(several(source, [site.first for site in found], f" ({rung})"))


def refuse_whole_twins(source: Source, wanted: Sequence[str], site: Site) -> None:
    """For lines found as deep as they are given, without a blank one at an end of what is wanted: where they stand with
    it, at another depth, may be meant as well. Raises EditRefused."""
    if all(wanted[edge].strip() or edge in dict(site.pairs) for edge in (0, len(wanted) - 1)):
        return
    step = next(step for step in STEPS if step.rung is Rung.INDENTATION)
    whole = [each for each in sites(source, wanted, step) if len(each.pairs) == len(wanted)]
    if others := [each.first for each in whole if each.first != site.first]:
        raise EditRefused(several(source, [site.first, *others], f" ({Rung.INDENTATION})"))


def _refuse_ended_lines(source: Source, start: int, old: str) -> None:
    """For text that stands to the letter before other text of its line, and ends in white space: what follows may be
    meant to stay, or the line to end there, as others do whose white space at the end was made up. Raises EditRefused.
    """
    end = start + len(old)
    if old[-1] not in " \t" or end == len(source.text) or source.text[end] == "\n":
        return
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    rung = Rung.TRAILING if before.strip() else Rung.INDENTATION
    step = next(step for step in STEPS if step.rung is rung)
    if found := sites(source, old.split("\n"), step):
        raise EditRefused(
            several(source, [source.line_at(start), *(site.first for site in found)], f" ({rung})")
        )


def _refuse_cut_lines(source: Source, start: int, old: str) -> None:
    """For several lines that stand to the letter but for the rest of the last one, or the beginning of the first: as
    whole lines they may be meant where more of them stand so, with another one left out. Raises EditRefused."""
    end = start + len(old)
    text = source.text
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    behind = "" if old.endswith("\n") else text[end : line_end if line_end >= 0 else len(text)]
    if "\n" not in old.strip("\n") or not (behind.strip() or text[line_start:start].strip()):
        return
    from tools.edit.approximate import anchored

    wanted = old.strip("\n").split("\n")
    first, last = source.line_at(start), source.line_at(end)
    for site in anchored(source, wanted, [False] * len(wanted))[:1]:
        if site.end <= first or site.first > last:
            raise EditRefused(several(source, [first, site.first], f" ({Rung.ANCHORS})"))


def _refuse_made_up_blank(source: Source, old: str, new: str) -> None:
    """For whole lines that stand to the letter: a blank one before them, which `new` has not, may be a way to quote,
    and without it they stand at several places. Raises EditRefused."""
    wanted = old.strip("\n").split("\n")
    if not old.startswith("\n") or new.startswith("\n") or not has_own_word(wanted[0]) or not new:
        return
    if len(places := line_sites(source.text, wanted)) > 1:
        raise EditRefused(several(source, places, " (but for a blank line)"))


def _refuse_escaped_lines(source: Source, start: int, old: str) -> None:
    """For text on one line that stands to the letter, and has the letters \\n: a model that escapes twice means lines
    by them, if these stand somewhere. Raises EditRefused."""
    if "\\n" not in old or "\n" in old.strip("\n") or not (plain := unescaped(old)):
        return
    if places := line_sites(source.text, plain.strip("\n").split("\n")):
        raise EditRefused(
            several(source, [source.line_at(start), *places], " (as letters, and as line ends)")
        )


def rest_of_lines(text: str, start: int, old: str) -> bool:
    """Whole lines but for the indentation of the first: when they go, it goes, too."""
    end = start + len(old)
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return not before.strip() and (old.endswith("\n") or end == len(text) or text[end] == "\n")
