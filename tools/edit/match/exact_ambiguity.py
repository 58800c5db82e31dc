"""Checks whether an exact match of the old text is the intended place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tools.edit.formats.cleanup import undo_escapes
from tools.edit.match.exact_match import find_whole_lines
from tools.edit.match.matchers import STEPS, Rung, Site, Source, Step, find_sites, has_distinctive_word
from tools.edit.match.refusal_messages import EditRefused, format_several_places

PARTED = 3
"""Other lines that may occur between the wanted ones."""

VERSION = 0.6
"""Similarity from which one line is a version of the other."""


def is_first_line_deeper(text: str, start: int, old: str) -> bool:
    """Return whether `old` is whole lines whose first one is deeper in the file than given: similar, not
    equal. A place at another depth is then as good, and only the matched lines show how deep `new` belongs.
    """
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if old[0] == "\n":  # a blank line is meant, not the end of the line before
        return bool(before) and bool(old.strip("\n"))
    return bool(before) and old[0] in " \t" and is_rest_of_lines(text, start, old)


def is_other_line(text: str, start: int, old: str) -> bool:
    """Return whether indented brackets alone match the beginning of a deeper line that continues: that line
    has them too, but is not the given one.
    """
    before = text[text.rfind("\n", 0, start) + 1 : start]
    end = text.find("\n", start + len(old))
    behind = text[start + len(old) : end if end >= 0 else len(text)]
    return bool(before.isspace() and old[:1].isspace() and behind.strip() and not has_distinctive_word(old))


def has_white_space_left(source: Source, start: int, old: str, new: str) -> bool:
    """Return whether removing whole lines would leave the white space at the end of the last one behind.

    The last line is removed, or stays with other lines after it: literally replaced, that white space would
    remain alone, or after another line. Raises EditRefused if the last line is replaced by another: whether
    it should end the same is unclear. A version of a single line is a change within it.
    """
    text, end = source.text, start + len(old)
    line_end = text.find("\n", end)
    behind = text[end : line_end if line_end >= 0 else len(text)]
    before = text[text.rfind("\n", 0, start) + 1 : start]
    if not behind.isspace() or before.strip() or old.endswith("\n") or new.endswith(behind):
        return False
    (*others, last), lines = old.split("\n"), new.split("\n")
    if new and any(
        sum(line.strip() == last.strip() for line in each) > 1 for each in ((*others, last), lines)
    ):
        return True  # which of them stays is not stated
    if lines[-1].strip() == last.strip() or (not others and len(lines) == 1 and _is_version(last, new)):
        return False
    if not new or last.strip() in map(str.strip, lines):
        return True
    raise EditRefused(
        f"line {source.line_at(end) + 1} ends in white space that `old` has not: give the line to its end, and the new "
        "one with what it is to end in"
    )


def _is_version(line: str, other: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, line.strip(), other.strip(), autojunk=False).ratio() > VERSION


def find_twins(source: Source, wanted: Sequence[str], at: Step = STEPS[0]) -> tuple[Rung, list[Site]]:
    """Find the sites of lines, unique under the step `at`, when blank lines are ignored: models drop or add
    those, so several sites are ambiguous. Where only brackets and words like `end` are given exactly, the
    same holds for another depth.
    """
    own = has_distinctive_word("\n".join(wanted))
    to_the_letter = at.rung in (Rung.EXACT, Rung.TRAILING)
    step = replace(at, skips_blank=True) if not to_the_letter else STEPS[2] if own else STEPS[4]
    if own and len(wanted) < 2:
        return step.rung, []
    if to_the_letter and source.text.count(max((line.strip() for line in wanted), key=len)) < 2:
        return step.rung, []
    return step.rung, find_sites(source, wanted, step)


def refuse_misleading_match(source: Source, start: int, old: str, new: str) -> None:
    """Raise EditRefused if other lines may be meant than the only exact match, at `start`."""
    refuse_twins(source, source.line_at(start), *find_twins(source, old.removesuffix("\n").split("\n")))
    _refuse_trailing_space_twin(source, start, old)
    first = source.line_at(start)
    if source.text[source.text.rfind("\n", 0, start) + 1 : start].isspace() and "\n" in old.strip("\n"):
        wanted = old.removesuffix("\n").split("\n")
        site = Site(
            first=first,
            end=first + len(wanted),
            pairs=tuple((i, first + i) for i in range(len(wanted))),
        )
        refuse_interleaved_lines(source, wanted, site, Rung.INDENTATION)
    _refuse_cut_lines(source, start, old)
    _refuse_made_up_blank(source, old, new)
    _refuse_escaped_lines(source, start, old)


def refuse_twins(source: Source, line: int, rung: Rung, found: Sequence[Site]) -> None:
    """Raise EditRefused for several twins. line: of the exact match. found: the sites of `find_twins`, or
    those that count
    """
    if len(found) > 1 and any(site.first <= line < site.end for site in found):
        raise EditRefused(format_several_places(source, [site.first for site in found], f" ({rung})"))


def refuse_whole_twins(source: Source, wanted: Sequence[str], site: Site) -> None:
    """Raise EditRefused if lines matched without a blank one at their end occur with it elsewhere, at another
    depth or with other white space.
    """
    if all(wanted[edge].strip() or edge in dict(site.pairs) for edge in (0, len(wanted) - 1)):
        return
    step = next(step for step in STEPS if step.rung is Rung.WHITE_SPACE)
    whole = [each for each in find_sites(source, wanted, step) if len(each.pairs) == len(wanted)]
    if others := [each.first for each in whole if each.first != site.first]:
        raise EditRefused(format_several_places(source, [site.first, *others], f" ({step.rung})"))


def refuse_interleaved_lines(source: Source, wanted: Sequence[str], site: Site, rung: Rung) -> None:
    """Raise EditRefused if several lines, matched with changed white space, occur as given elsewhere with
    others between them.
    """
    step = STEPS[0] if rung is Rung.TRAILING else STEPS[1]
    given = [step.key(line) for line in wanted if line.strip()]
    view = source.view(step)
    if len(given) < 2 or not all(line in view.places for line in given):
        return
    taken = {row for _, row in site.pairs}
    # a blank line that is not there
    ended = not wanted[-1].strip() and len(wanted) - 1 not in dict(site.pairs)
    for start in view.places[given[0]]:
        end = min(start + len(wanted) + PARTED, len(view.keys))
        rows = _find_rows_in_order(view.keys, start, end, given)
        if ended and rows and set(rows) <= taken:
            last = next((row for row in range(rows[-1], end) if not view.keys[row].strip()), None)
            if last is not None and {given[-1]} == set(view.keys[rows[-1] : last]) and last > rows[-1] + 1:
                rows.append(last)
        if rows and not taken.issuperset(rows):
            raise EditRefused(
                format_several_places(source, [site.first, start], f" ({rung}, and with lines between)")
            )


def _find_rows_in_order(lines: Sequence[str], start: int, end: int, wanted: Sequence[str]) -> list[int]:
    """Return the earliest rows from `start` on, before `end`, of the wanted lines in order; none if any is
    missing.
    """
    rows, left = list[int](), list(wanted[::-1])
    for row in range(start, end):
        if left and lines[row] == left[-1]:
            rows.append(row)
            left.pop()
    return [] if left else rows


def _refuse_trailing_space_twin(source: Source, start: int, old: str) -> None:
    """Raise EditRefused if the trailing white space of `old` is ambiguous: `old` matches before other text of
    its line, which may be meant to stay, or a line that ends there is meant, whose white space at the end was
    invented.
    """
    end = start + len(old)
    if old[-1] not in " \t" or end == len(source.text) or source.text[end] == "\n":
        return
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    rung = Rung.TRAILING if before.strip() else Rung.INDENTATION
    step = next(step for step in STEPS if step.rung is rung)
    if found := find_sites(source, old.split("\n"), step):
        raise EditRefused(
            format_several_places(
                source, [source.line_at(start), *(site.first for site in found)], f" ({rung})"
            )
        )


def _refuse_cut_lines(source: Source, start: int, old: str) -> None:
    """Raise EditRefused if several lines match except for the rest of the last one, or the beginning of the
    first, and whole lines elsewhere match better, with another one left out.
    """
    end = start + len(old)
    text = source.text
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    behind = "" if old.endswith("\n") else text[end : line_end if line_end >= 0 else len(text)]
    if "\n" not in old.strip("\n") or not (behind.strip() or text[line_start:start].strip()):
        return
    from tools.edit.match.approximate import find_anchored_sites

    wanted = old.strip("\n").split("\n")
    first, last = source.line_at(start), source.line_at(end)
    for site in find_anchored_sites(source, wanted, [False] * len(wanted))[:1]:
        if site.end <= first or site.first > last:
            raise EditRefused(format_several_places(source, [first, site.first], f" ({Rung.ANCHORS})"))


def _refuse_made_up_blank(source: Source, old: str, new: str) -> None:
    """Raise EditRefused if whole lines occur at several places without a blank one before them, which `new`
    lacks: it may be only a way to quote.
    """
    wanted = old.strip("\n").split("\n")
    if not old.startswith("\n") or new.startswith("\n") or not has_distinctive_word(wanted[0]) or not new:
        return
    if len(places := find_whole_lines(source.text, wanted)) > 1:
        raise EditRefused(format_several_places(source, places, " (but for a blank line)"))


def _refuse_escaped_lines(source: Source, start: int, old: str) -> None:
    """Raise EditRefused for a one-line match with the letters \\n, if lines that they may mean occur
    somewhere: a model that escapes twice means lines by them.
    """
    if "\\n" not in old or "\n" in old.strip("\n") or not (plain := undo_escapes(old)):
        return
    if places := find_whole_lines(source.text, plain.strip("\n").split("\n")):
        raise EditRefused(
            format_several_places(source, [source.line_at(start), *places], " (as letters, and as line ends)")
        )


def is_rest_of_lines(text: str, start: int, old: str) -> bool:
    """Return whether these are whole lines except for the first one's indentation, which is then removed with
    them.
    """
    end = start + len(old)
    before = text[text.rfind("\n", 0, start) + 1 : start]
    return not before.strip() and (old.endswith("\n") or end == len(text) or text[end] == "\n")
