"""What a careful reader would say of a hunk as it is written: it is meant here, it could be meant elsewhere too, …

This decides what a case expects. It must not be lenient towards anyone: where the written lines alone do not
tell which place is meant, the only right answer is a refusal; where they say another place than the one they
were made from, there is no right answer and the case is dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import Enum
from functools import lru_cache

from benchmarks.edit_mutations.draft import PUNCTUATION, Draft, Text, new_lines, old_lines, squeezed, texts
from benchmarks.edit_mutations.whitespace import UNITS, leading
from tools.edit.edit_model import Line

MARGIN = 0.02
"""Two places whose likeness differs by less are equally like."""

MOST_SEEN = 40
"""A line that stands at more places says nothing about which is meant (`}`, `end`, a blank line)."""

ALIKE = 0.7
"""Similarity from which a line may be another one with a slip."""

LIKELY = 0.9
"""What a line with a slip counts, of what it would to the letter."""

SLACK = 3
"""Lines that may be missing or invented around a place without its being another."""


class Verdict(Enum):
    """What is right: to apply it, to refuse it; None of these: it says something else than was meant."""

    APPLY = "apply"
    REFUSE = "refuse"
    DROP = "drop"


def verdict(draft: Draft) -> Verdict:
    """What is right for this case."""
    given = old_lines(draft.given)
    if given == new_lines(draft.given) or _changes(draft.given) < _changes(draft.truth):
        return (
            Verdict.DROP
        )  # nothing of a change is left, or not all (white space that a slip has made alike)
    if not draft.meant:
        return Verdict.DROP if any(_places(draft.text, given)) else Verdict.REFUSE
    if _is_another_edit(draft, given) or _is_text_elsewhere(draft, given):
        return Verdict.DROP
    if draft.torn and any(_places(draft.text, given)):
        return (
            Verdict.DROP
        )  # the words stand somewhere: a second slip has brought them back, or another place has them
    if draft.torn or not any(line.strip() for line in given):
        return Verdict.REFUSE
    if draft.elided:
        return _of_elided(draft, given)
    if draft.slips > 1 and (_is_one_slip(draft) or _is_plainer_edit(draft, given)):
        return Verdict.DROP
    return (
        _of_lines(draft, given)
        or _of_filled(draft, given)
        or _of_another_place(draft, given)
        or _of_likeness(draft, given)
    )


def _changes(ops: Sequence[Line]) -> int:
    """How many lines with text are in one of the sides and not in the other."""
    old, new = (
        Counter(line.text for line in ops if line.op == op and line.text.strip()) for op in ("-", "+")
    )
    return (old - new).total() + (new - old).total()


def _is_another_edit(draft: Draft, given: tuple[str, ...]) -> bool:
    """What is written stands to the letter, once, right here, and says another thing; nothing tells the slips. They
    have undone one another in the old lines, but not in the new ones (one old line, indented more and then as the
    first), or a line that is left out is like the one before it."""
    places = exact_places(draft.text.lines, given)
    if len(places) != 1 or not draft.start <= places[0] < max(draft.stop, draft.start + 1):
        return False
    lines, place = draft.text.lines, places[0]
    made = (*lines[:place], *new_lines(draft.given), *lines[place + len(given) :])
    return made != draft.applied()


def _is_text_elsewhere(draft: Draft, given: tuple[str, ...]) -> bool:
    """Several lines stand to the letter once, but for the indentation of the first, and not where they were taken from:
    two slips, that of all lines and that of the first, have made another place's lines of them."""
    first, *rest = given
    if not rest or not first.strip() or leading(first):
        return False
    found = [
        index
        for index, line in enumerate(draft.text.lines)
        if line.lstrip() == first and list(draft.text.lines[index + 1 : index + len(given)]) == rest
    ]
    if len(found) != 1:
        return False
    if draft.start - len(given) < found[0] < draft.stop:
        return draft.slips > 1 and _says_another(draft, range(found[0], found[0] + len(given)))
    return True


def _is_one_slip(draft: Draft) -> bool:
    """Two slips in the indentation of all lines look like a single one, by which the new lines are others: all moved
    as far, or a tab of another width."""
    old, there = _filled(old_lines(draft.given)), _filled(old_lines(draft.truth))
    new, meant = _filled(texts(draft.given, "+")), _filled(texts(draft.truth, "+"))
    if [line.strip() for line in old] != [line.strip() for line in there] or len(new) != len(meant):
        return False
    more, less = _shift(there[0], old[0])
    for undo in (
        _moved(less, more),
        *(_retabbed(unit) for unit in UNITS),
        *(_untabbed(unit) for unit in UNITS),
    ):
        if [undo(line) for line in old] == there:
            made = [undo(line) for line in new]
            if made != meant:
                return True
    return False


def _filled(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def _moved(less: str, more: str) -> Callable[[str], str]:
    return lambda line: more + line.removeprefix(less)


def _retabbed(unit: int) -> Callable[[str], str]:
    """Undoes "a tab as so many spaces"."""

    def undo(line: str) -> str:
        wide = len(line) - len(line.lstrip(" "))
        return "\t" * (wide // unit) + " " * (wide % unit) + line.lstrip(" ")

    return undo


def _untabbed(unit: int) -> Callable[[str], str]:
    """Undoes "so many spaces as a tab"."""
    return lambda line: " " * unit * (len(line) - len(line.lstrip("\t"))) + line.lstrip("\t")


def _is_plainer_edit(draft: Draft, given: tuple[str, ...]) -> bool:
    """But for lines that are made up the given ones stand there without a gap, and say another thing so: one that is
    left out, and another slip, have made the lines of another place, or of another part of this one."""
    text = draft.text
    wanted = [_Wanted(line, text) for line in map(squeezed, given) if line]
    rows = [row for row in text.filled if draft.start - len(given) <= row < draft.stop + len(given)]
    lines = [text.squeezed[row] for row in rows]
    known = [each for each in wanted if any(each.worth(line) for line in lines)]
    if not known or len(known) >= len(_filled(old_lines(draft.truth))):
        return False
    runs = [
        rows[at : at + len(known)]
        for at in range(len(rows) - len(known) + 1)
        if all(each.worth(line) for each, line in zip(known, lines[at:], strict=False))
    ]
    stand = [each in known for each in wanted]
    return any(_says_another(draft, run, stand) for run in runs)


def _says_another(draft: Draft, rows: Sequence[int], stand: Sequence[bool] = ()) -> bool:
    """Made of these rows, the edit gives other lines than are meant, blank ones aside.

    stand: which of the old lines with text stand in these rows; all if left out
    """
    text, ops = draft.text, [line for line in draft.given if line.text.strip()]
    taken = iter([row for row in rows if text.squeezed[row]])
    known = iter(stand or [True] * len(ops))
    own = [squeezed(line) for line in texts(draft.truth, "+") if line.strip()]
    fresh = iter(own if len(own) == sum(line.op == "+" for line in ops) else ())
    made = [text.squeezed[row] for row in text.filled if row < rows[0]]
    for line in ops:
        if line.op == "+":
            made.append(next(fresh, squeezed(line.text)))
        elif next(known):
            row = next(taken, None)
            made += [text.squeezed[row]] if line.op == " " and row is not None else []
    made += [text.squeezed[row] for row in text.filled if row > rows[-1]]
    return made != [each for each in map(squeezed, draft.applied()) if each]


def exact_places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Indices at which the lines stand, to the letter."""
    first, count, wanted = wanted[0], len(wanted), tuple(wanted)
    found = (index for index, line in enumerate(lines) if line == first)
    return [index for index in found if tuple(lines[index : index + count]) == wanted]


def _of_lines(draft: Draft, given: tuple[str, ...]) -> Verdict | None:
    """Where as many lines stand that are alike but for white space and punctuation; None if not here."""
    levels = dict(_places(draft.text, given))
    here = levels.pop(draft.start, None)
    if here is None or len(given) != len(old_lines(draft.truth)):
        return None
    elsewhere = [level for place, level in levels.items() if not _the_same_made(draft, place, len(given))]
    if any(level < here for level in elsewhere):
        return Verdict.DROP
    return Verdict.REFUSE if here in elsewhere else Verdict.APPLY


def _the_same_made(draft: Draft, place: int, count: int) -> bool:
    """Applied at this other place, the file would be the same: one of two equal lines removed, say."""
    if abs(place - draft.start) >= count:
        return False
    lines = draft.text.lines
    if lines[place : place + count] != old_lines(draft.truth):
        return False
    return (*lines[:place], *new_lines(draft.truth), *lines[place + count :]) == draft.applied()


def _of_filled(draft: Draft, given: tuple[str, ...]) -> Verdict | None:
    """Where the lines stand if blank ones do not count; None if not here."""
    wanted = tuple(filter(None, map(squeezed, given)))
    text = draft.text
    filled = text.filled
    lines = tuple(text.squeezed[index] for index in filled)
    found = exact_places(lines, wanted)
    written = [line for line in given if line.strip()]
    levels = {
        filled[index]: _level([text.lines[each] for each in filled[index : index + len(wanted)]], written)
        for index in found
    }
    here = [
        level for place, level in levels.items() if draft.start <= place < max(draft.stop, draft.start + 1)
    ]
    if not here:  # two slips have made the lines of another part of it
        return Verdict.DROP if found and draft.slips > 1 else None
    if len(wanted) < sum(1 for line in old_lines(draft.truth) if line.strip()) and not _stand(draft, given):
        return (
            Verdict.DROP
        )  # a line is left out and another slip done, and without the one it is an edit as well
    others = sorted(levels.values())
    others.remove(here[0])
    if not others or here[0] < others[0]:
        return Verdict.APPLY
    return Verdict.REFUSE if here[0] == others[0] else Verdict.DROP


def _stand(draft: Draft, written: Sequence[str]) -> bool:
    """The lines as they are written are lines of the place, in order."""
    there = iter(old_lines(draft.truth))
    return all(line in there for line in written)


def _of_another_place(draft: Draft, given: tuple[str, ...]) -> Verdict | None:
    """Where the lines as they are written stand to the letter at one place, which is not where they were taken from:
    then they are a perfectly right edit, of that place."""
    places = exact_places(draft.text.lines, given)
    elsewhere = len(places) == 1 and not draft.start <= places[0] < draft.stop
    return Verdict.DROP if elsewhere else None


def _of_likeness(draft: Draft, given: tuple[str, ...]) -> Verdict:
    """Where most of the lines stand, in their order."""
    wanted = [_Wanted(line, draft.text) for line in map(squeezed, given) if line]
    here = _likeness(draft.text, wanted, draft.start, draft.stop)
    if here < 3:
        return Verdict.REFUSE  # not one word to hold on to
    most = 0.0
    for start in _voted(draft.text, wanted, len(given)):
        if start < draft.stop and start + len(given) > draft.start:
            continue
        if _most(draft.text, wanted, start, start + len(given)) >= here * (1 - MARGIN):
            most = max(most, _likeness(draft.text, wanted, start, start + len(given)))
    if most > here * (1 + MARGIN):
        return Verdict.DROP
    return Verdict.REFUSE if most >= here * (1 - MARGIN) else Verdict.APPLY


class _Wanted:
    """A line that is looked for: the more it says, the more it weighs. One that is nowhere may stand drifted."""

    def __init__(self, line: str, text: Text) -> None:
        self.line = line
        self.weight = float(min(sum(map(str.isalnum, line)), 40)) or 0.1
        self.drifted = line not in text.where

    def worth(self, other: str) -> float:
        """What it counts if this line stands in its place. Likely ones count alike: by how much tells nothing."""
        if self.line == other:
            return self.weight
        return LIKELY * self.weight if self.drifted and _alike(self.line, other) else 0.0


@lru_cache(maxsize=4096)
def _alike(line: str, other: str) -> bool:
    matcher = SequenceMatcher(None, line, other, autojunk=False)
    return matcher.real_quick_ratio() > ALIKE and matcher.quick_ratio() > ALIKE and matcher.ratio() > ALIKE


def _voted(text: Text, wanted: Sequence[_Wanted], count: int) -> set[int]:
    """Indices at which the lines might begin, by each of their lines that tells something."""
    found: set[int] = set()
    for offset, each in enumerate(wanted):
        places = text.where.get(each.line, [])
        if len(places) <= MOST_SEEN:
            found |= {max(0, place - offset) for place in places}
    return found


def _window(text: Text, start: int, stop: int) -> tuple[str, ...]:
    return text.squeezed[max(0, start - SLACK) : stop + SLACK]


def _most(text: Text, wanted: Sequence[_Wanted], start: int, stop: int) -> float:
    """No more than this can be alike."""
    there = set(_window(text, start, stop))
    return sum(each.weight for each in wanted if each.drifted or each.line in there)


def _likeness(text: Text, wanted: Sequence[_Wanted], start: int, stop: int) -> float:
    """The weight of the lines that stand there in this order: a longest common subsequence."""
    best = [0.0] * (len(wanted) + 1)
    for line in _window(text, start, stop):
        if not line:
            continue
        before = 0.0
        for index, each in enumerate(wanted):
            above = best[index + 1]
            best[index + 1] = max(above, best[index], before + each.worth(line))
            before = above
    return best[-1]


def _of_elided(draft: Draft, given: tuple[str, ...]) -> Verdict:
    """Each part around the dots must stand at one place only; if all stand at several, nobody can tell."""
    dots = [index for index, line in enumerate(given) if line.strip() == "..."]
    parts = [given[a + 1 : b] for a, b in zip([-1, *dots], [*dots, len(given)], strict=True)]
    counts = [len(list(_places(draft.text, part))) if part else 0 for part in parts]
    if all(count == 1 for count in counts):
        return Verdict.APPLY
    return Verdict.REFUSE if all(count > 1 for count in counts) else Verdict.DROP


def _places(text: Text, given: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Index and level of each place where these lines stand but for white space and punctuation.

    Levels: 0 to the letter; 1 but for trailing white space; 2 all indented by as much more or less; 3 indented
    otherwise, other punctuation; 4 other white space within lines.
    """
    wanted = tuple(map(squeezed, given))
    offset = min(range(len(wanted)), key=lambda index: len(text.where.get(wanted[index], ())))
    for place in text.where.get(wanted[offset], ()):
        start = place - offset
        if start >= 0 and text.squeezed[start : start + len(wanted)] == wanted:
            yield start, _level(text.lines[start : start + len(wanted)], given)


def _level(there: Sequence[str], given: Sequence[str]) -> int:
    if tuple(there) == tuple(given):
        return 0
    pairs = [(a.rstrip(), b.rstrip()) for a, b in zip(there, given, strict=True)]
    if all(a == b for a, b in pairs):
        return 1
    if any(a.lstrip() != b.lstrip() for a, b in pairs):
        inner = [(a.translate(PUNCTUATION).strip(), b.translate(PUNCTUATION).strip()) for a, b in pairs]
        return 3 if all(a == b for a, b in inner) else 4
    return 2 if len({_shift(a, b) for a, b in pairs if a}) == 1 else 3


def _shift(there: str, given: str) -> tuple[str, str]:
    """What of the indentation is too much on either side."""
    a = there[: len(there) - len(there.lstrip())]
    b = given[: len(given) - len(given.lstrip())]
    if a.endswith(b):
        return a.removesuffix(b), ""
    return ("", b.removesuffix(a)) if b.endswith(a) else (a, b)
