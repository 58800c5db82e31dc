"""Find the one place that an edit means, and what to put there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.edit import exact
from tools.edit.already import refuse_made, refuse_placeholders, refuse_repeated, refuse_standing
from tools.edit.changes import Hunk, Line, Lines, Replace, Symbol
from tools.edit.counterparts import refuse_lost_indentation
from tools.edit.depth import settled
from tools.edit.diffing import diffed
from tools.edit.formats.clean import has_fence
from tools.edit.formats.placeholders import stands_for_lines
from tools.edit.heads import scopes
from tools.edit.indentation import indent_of, mixes
from tools.edit.ladder import STEPS, Rung, Site, Source, has_own_word, says_enough, sites
from tools.edit.letters import (
    is_other_line,
    is_shallow,
    leaves_white_space,
    refuse_parted,
    refuse_seeming,
    refuse_twins,
    refuse_whole_twins,
    rest_of_lines,
    twins,
)
from tools.edit.merge import Splice
from tools.edit.numbered import where_they_say, without_numbers
from tools.edit.placed import MAX_COMPARED, Found, has_newline_to_spare, one_place, placed
from tools.edit.readings import NUMBERED, OLD_FENCED, UNMARKED, Reading, as_hunk, as_lines, readings
from tools.edit.refusals import EditRefused, not_found, several
from tools.edit.splicing import TextSplice, as_text, ended
from tools.edit.typography import refuse_bent_bullets
from tools.edit.unclear import Unclear
from tools.edit.unwrap import unwrapped


def find_replace(
    source: Source, edit: Replace, path: str, written: Sequence[tuple[int, int]], strictest: bool
) -> Found:
    """Raises EditRefused. written: parts of the text that earlier edits made, where others come first"""
    if not edit.old.strip():
        raise EditRefused("`old` is empty: give the text to replace")
    if edit.old == edit.new:
        raise EditRefused("`old` and `new` are the same")
    if "\r" in edit.old + edit.new and "\r" not in source.text:
        edit = replace(edit, old=_unix(edit.old), new=_unix(edit.new))
    if edit.old.endswith("\n") and not source.text.endswith("\n") and source.text.endswith(edit.old[:-1]):
        # the file's end has no newline
        old, new = edit.old[:-1], edit.new.removesuffix("\n")
        whole = not new and _whole_lines(source.text, len(source.text) - len(old), old)
        edit = replace(edit, old=old, new=new, whole_lines=edit.whole_lines or whole)
    options = list(readings(edit))[: 1 if strictest else None]
    options = [each for each in options if not _keeps_fence(source, each)]
    options = where_they_say(source, edit.old, options)
    for reading in options:
        if found := _exact(source, edit, reading, path, written):
            return found
    if edit.all:
        raise EditRefused(not_found(source, edit.old))
    if not strictest and says_enough(edit.old):
        hunks = [(reading, as_hunk(reading)) for reading in options]
        for found in _loose(source, hunks):
            return found
    if edit.whole_lines and not strictest and (part := _part_of_line(source, edit, path)):
        return part
    for reading in options:
        refuse_made(source, reading.old, reading.new)
    raise EditRefused(not_found(source, edit.old))


def find_hunk(source: Source, hunk: Hunk, strictest: bool) -> Found:
    """Raises EditRefused."""
    allowed = scopes(source, hunk.heads)
    if not allowed and hunk.old:
        allowed = None  # no such head: lines that stand only once need none
    if not any(line.op != "+" for line in hunk.lines):
        return _added(source, hunk, allowed)
    _refuse_unmeant(source, hunk.lines)
    everywhere = exact.line_sites(source.text, hunk.old)
    numbers = _allowed(everywhere, len(hunk.old), hunk, allowed, source)
    if everywhere and not numbers:
        numbers = everywhere  # not where the head says: then only lines that stand just once can be meant
    if len(numbers) > 1 and hunk.start is not None and hunk.counted and hunk.start - 1 in numbers:
        numbers = [
            hunk.start - 1
        ]  # the diff knows its file: its counts are right, and its lines stand where it says
    if numbers:
        if not (hunk.counted and hunk.start == numbers[0] + 1):
            rung, alike = twins(source, hunk.old)
            refuse_twins(source, numbers[0], rung, _in(alike, hunk, allowed, source))
        found = [_exact_site(number, len(hunk.old)) for number in numbers]
        return one_place(source, found, hunk, Rung.EXACT)
    if not strictest and says_enough("\n".join(hunk.old)):
        for loose in _loose(source, [(None, hunk), *without_numbers(source, hunk)], allowed):
            return loose
    if len(made := exact.line_sites(source.text, hunk.new)) == 1 and hunk.new:
        raise EditRefused(f"already applied: its new lines stand at line {made[0] + 1}", already=True)
    where = f"{_after_heads(hunk)}: " if hunk.heads else ""
    raise EditRefused(where + not_found(source, "\n".join(hunk.old)))


def find_lines(source: Source, edit: Lines) -> Found:
    """Raises EditRefused."""
    total = len(source.lines)
    if not (1 <= edit.first <= edit.last + 1 and edit.last <= total):
        raise EditRefused(f"there are no lines {edit.first}–{edit.last}: the file has {total}")
    new = edit.new.removesuffix("\n").split("\n") if edit.new else []
    splice = Splice(first=edit.first - 1, end=edit.last, lines=tuple(new))
    return Found(rung=Rung.POSITION, splices=(as_text(source, splice),))


def find_symbol(source: Source, edit: Symbol, path: str) -> Found:
    """Raises EditRefused."""
    from tools.symbols import SymbolAmbiguous, SymbolNotFound, find, replacement

    try:
        definition = find(path, source.text, edit.name)
        first, last, new = replacement(source.text, definition, edit.new)
    except (SymbolNotFound, SymbolAmbiguous, ValueError) as problem:
        raise EditRefused(str(problem)) from None
    lines = new.removesuffix("\n").split("\n") if new else []
    splice = Splice(first=first - 1, end=last, lines=tuple(lines))
    return Found(rung=Rung.SYMBOL, splices=(as_text(source, splice),))


def _keeps_fence(source: Source, reading: Reading) -> bool:
    """A fence that `new` has not was taken off `old`, and may be one of the file's."""
    return OLD_FENCED in reading.note and has_fence(source.text)


def _part_of_line(source: Source, edit: Replace, path: str) -> Found | None:
    """A block's one line that is a part of the only line that has it. None if only white space is around it there, and
    would be left to stand alone."""
    old, new = edit.old.removesuffix("\n"), edit.new.removesuffix("\n")
    starts = exact.sites(source.text, old) if "\n" not in old else []
    if len(starts) != 1 or "\n" in new or (edit.new and not new) or is_shallow(source.text, starts[0], old):
        return None
    if leaves_white_space(source, starts[0], old, new):
        return None
    splice = _part(source, starts[0], Reading(old=old, new=new), path, keep_end=False)
    return Found(rung=Rung.EXACT, splices=(splice,), note="taken as a part of a line")


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\r")


def _exact(
    source: Source, edit: Replace, reading: Reading, path: str, written: Sequence[tuple[int, int]]
) -> Found | None:
    if edit.whole_lines:
        hunk = as_hunk(reading)
        starts = [source.offset(number) for number in exact.line_sites(source.text, hunk.old)]
    else:
        starts = exact.sites(source.text, reading.old)
    if NUMBERED in reading.note or UNMARKED in reading.note:  # lines that had such are whole ones
        starts = [at for at in starts if not source.text[source.text.rfind("\n", 0, at) + 1 : at].strip()]
    starts = _outside(starts, len(reading.old), written)
    if not edit.all and any(is_shallow(source.text, start, reading.old) for start in starts):
        # as lines they may stand once all the same
        starts = [start for start in starts if _whole_lines(source.text, start, reading.old)]
    if not edit.all:
        starts = [start for start in starts if not is_other_line(source.text, start, reading.old)]
    if not starts:
        return None
    _refuse_unmeant(source, as_hunk(reading).lines)
    if edit.all:
        parts = exact.apart(starts, len(reading.old))
        found = tuple(
            TextSplice(start=start, end=start + len(reading.old), new=reading.new) for start in parts
        )
        return Found(rung=Rung.EXACT, splices=found, note=reading.note, apart=True)
    _refuse_unended(source, reading.old, starts)
    if len(starts) > 1:
        results = {_literal(source, start, reading) for start in starts[:MAX_COMPARED]}
        if len(results) > 1 or len(starts) > MAX_COMPARED:
            hint = "" if edit.whole_lines else ", or all=true"
            raise EditRefused(several(source, [source.line_at(start) for start in starts], "", hint))
    start = next((each for each in starts if _whole_lines(source.text, each, reading.old)), starts[0])
    if leaves_white_space(source, start, reading.old, reading.new):
        if not says_enough(reading.old):
            raise EditRefused(
                f"line {source.line_at(start) + 1} ends in white space that `old` has not: give it to its end"
            )
        return None  # whole lines, but for white space at the end of the last one
    refuse_seeming(source, start, reading.old, reading.new)
    refuse_repeated(source, start, reading)
    if path:
        new, note = unwrapped(path, source.text, start, reading.old, reading.new)
        reading = replace(reading, new=new, note=", ".join(filter(None, (reading.note, note))))
    _refuse_lost_indentation(source, start, reading)
    # without anything instead, the line end before these lines goes, not that behind them
    from_line_end = not reading.new and reading.old.startswith("\n") and not reading.old.endswith("\n")
    from_line_end = from_line_end and not edit.whole_lines
    if _whole_lines(source.text, start, reading.old) and not from_line_end:
        glues = _glues(source.text, start, reading)
        hunk = Hunk(lines=tuple(diffed(*as_lines(reading, literal=not glues))))
        site = _exact_site(source.line_at(start), len(hunk.old))
        if glues:  # the newline too much may be a blank line
            refuse_whole_twins(source, reading.old.split("\n"), site)
        return placed(source, site, hunk, Rung.EXACT, reading.note)
    splice = _part(source, start, reading, path, keep_end=from_line_end)
    return Found(rung=Rung.EXACT, splices=(splice,), note=reading.note)


def _refuse_unended(source: Source, old: str, starts: Sequence[int]) -> None:
    """The lines stand at the end of the file as well, which has no final newline. Raises EditRefused."""
    if not old.endswith("\n") or source.ends_with_newline or not source.text.endswith(old[:-1]):
        return
    last = len(source.text) - len(old) + 1
    if starts[0] != last and _whole_lines(source.text, last, old[:-1]):
        raise EditRefused(several(source, [source.line_at(start) for start in (starts[0], last)], ""))


def _part(source: Source, start: int, reading: Reading, path: str, *, keep_end: bool) -> TextSplice:
    """For old text that is no whole lines, or is to be taken to the letter. keep_end: the line end behind it stays"""
    end = start + len(reading.old)
    if not reading.new and not keep_end and rest_of_lines(source.text, start, reading.old):
        start = source.text.rfind("\n", 0, start) + 1
        if end == len(source.text) and not source.ends_with_newline:
            start = max(start - 1, 0)  # the file stays without a final newline
        end = min(end + (not reading.old.endswith("\n")), len(source.text))
    new = settled(source, start, reading.old, reading.new, path)
    _refuse_torn(source, start, reading)
    _refuse_other_kind(source, start, reading.old, new)
    line_start = source.text.rfind("\n", 0, start) + 1
    if new.isspace() and "\n" not in new and source.text[line_start:start].isspace():
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but lacks its indentation, so how much white "
            "space is to be left there is not clear: leave `new` empty, or give `old` as the file has it"
        )
    if "\n" in new and not new.partition("\n")[0].strip() and source.text[line_start:start].isspace():
        start, new = line_start, new.lstrip(" \t")  # a blank line comes first: the indentation goes with it
    line_end = source.text.find("\n", end)
    behind = source.text[end : line_end if line_end >= 0 else len(source.text)]
    if behind.isspace() and new.endswith(behind):  # `new` has the space that `old` lost
        end += len(behind)
    return TextSplice(start=start, end=end, new=new)


def _refuse_torn(source: Source, start: int, reading: Reading) -> None:
    """For a part of a line, beside which whole lines are added: the words that stand there would be torn off it, and
    another place where it is a line may be meant. Raises EditRefused."""
    old, new = reading.old.strip("\n"), reading.new.strip("\n")
    if "\n" in old:
        return
    text, end = source.text, start + len(reading.old)
    line_end = text.find("\n", end)
    before, behind = (
        text[text.rfind("\n", 0, start) + 1 : start],
        text[end:line_end] if line_end >= 0 else text[end:],
    )
    if (new.startswith(f"{old}\n") and has_own_word(behind)) or (
        new.endswith(f"\n{old}") and has_own_word(before)
    ):
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but is a part of it, and `new` has lines beside it: "
            "give the whole line"
        )


def _refuse_other_kind(source: Source, start: int, old: str, new: str) -> None:
    """New lines with tabs in a file of spaces, or with spaces in one of tabs, of which no old line has any. Raises
    EditRefused."""
    given = [indent_of(line) for line in new.split("\n")[1:] if line.strip()]
    if mixes(given, source.tabs) and not any(line[:1] in (" ", "\t") for line in old.split("\n")[1:]):
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but whether `new` is to be indented by tabs or by "
            "spaces is not clear: give it as the file has it"
        )


def _refuse_lost_indentation(source: Source, start: int, reading: Reading) -> None:
    """For old text that stands at `start`: its first line counts if only white space is before it."""
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    old, new = ((before + text).split("\n") for text in (reading.old, reading.new))
    skipped = 1 if before.strip() else 0
    try:
        refuse_lost_indentation(old[skipped:], new[skipped:])
    except Unclear as problem:
        raise EditRefused(f"`old` was found at line {source.line_at(start) + 1}, but {problem}") from None


def _refuse_unmeant(source: Source, lines: Iterable[Line]) -> None:
    refuse_placeholders(source, lines)
    refuse_bent_bullets(source, lines)


def _loose(
    source: Source,
    options: Sequence[tuple[Reading | None, Hunk]],
    allowed: Sequence[tuple[int, int]] | None = None,
) -> Iterable[Found]:
    """The strictest rung, below the exact one, at which one of the options has its one site."""
    from tools.edit.approximate import anchored, elided

    for reading, hunk in options:
        if reading is None or not reading.note:
            _refuse_unmeant(source, hunk.lines)
    for step in STEPS[1:]:
        for reading, hunk in options:
            if found := _in(sites(source, hunk.old, step), hunk, allowed, source):
                if len(found) == 1 and step.rung is Rung.TRAILING:
                    spare = reading is not None and has_newline_to_spare(reading)
                    wanted = reading.old.split("\n") if reading and spare else hunk.old
                    refuse_whole_twins(source, wanted, found[0])
                if len(found) == 1 and step == STEPS[2]:
                    deeper = sites(source, hunk.old, STEPS[3])  # all lines, but at another depth
                    if others := [site.first for site in _in(deeper, hunk, allowed, source)]:
                        raise EditRefused(several(source, [found[0].first, *others], f" ({STEPS[3].rung})"))
                if len(found) == 1 and not step.skips_blank:
                    rung, alike = twins(source, hunk.old, step)
                    refuse_twins(source, found[0].first, rung, _in(alike, hunk, allowed, source))
                if len(found) == 1:
                    refuse_parted(source, hunk.old, found[0], step.rung)
                yield one_place(source, found, hunk, step.rung, reading)
    for _, hunk in options:
        refuse_standing(source, hunk)
    for reading, hunk in options:
        if any(stands_for_lines(line) for line in hunk.old):
            _, found = elided(source, hunk.old)
            if found := _in(found, hunk, allowed, source):
                yield one_place(source, found, hunk, Rung.ELISION, reading)
    for reading, hunk in options:
        removed = [line.op == "-" for line in hunk.lines if line.op != "+"]
        if found := _in(anchored(source, hunk.old, removed), hunk, allowed, source):
            yield one_place(source, found, hunk, Rung.ANCHORS, reading)


def _added(source: Source, hunk: Hunk, allowed: Sequence[tuple[int, int]] | None) -> Found:
    """Lines to add, without one that says where: after the last head, or at the end."""
    lines = tuple(line.text for line in hunk.lines)
    if hunk.heads and allowed is not None:
        if len(allowed) != 1:
            raise EditRefused(_heads_problem(source, hunk, allowed))
        at = allowed[0][0]
    elif hunk.appends or hunk.at_end or not source.lines:
        at = len(source.lines)
    else:
        raise EditRefused("it adds lines, but has none that says where: give lines of context")
    splice = as_text(source, Splice(first=at, end=at, lines=lines))
    texts = [splice]
    if at == len(source.lines):
        texts = ended(source, hunk, texts)
    return Found(rung=Rung.EXACT, splices=tuple(texts))


def _allowed(
    numbers: Sequence[int], size: int, hunk: Hunk, allowed: Sequence[tuple[int, int]] | None, source: Source
) -> list[int]:
    found = [_exact_site(number, size) for number in numbers]
    return [site.first for site in _in(found, hunk, allowed, source)]


def _in(
    found: Sequence[Site], hunk: Hunk, allowed: Sequence[tuple[int, int]] | None, source: Source
) -> list[Site]:
    """Those of the sites that are where the hunk says: below its heads, at the end of the file."""
    kept = list(found)
    if allowed is not None:
        kept = [site for site in kept if any(first <= site.first < end for first, end in allowed)]
    if hunk.no_newline in ("-", " "):
        kept = [
            site for site in kept if site.end == len(source.lines)
        ]  # its old lines are said to be the last
    if hunk.at_end and len(kept) > 1:
        kept = [site for site in kept if not any(line.strip() for line in source.lines[site.end :])]
    return kept


def _exact_site(number: int, size: int) -> Site:
    return Site(first=number, end=number + size, pairs=tuple((i, number + i) for i in range(size)))


def _outside(starts: Sequence[int], length: int, written: Sequence[tuple[int, int]]) -> list[int]:
    """What the model saw comes before what its own earlier edits made."""
    free = [s for s in starts if not any(s < end and start < s + length for start, end in written)]
    return free or list(starts)


def _whole_lines(text: str, start: int, old: str) -> bool:
    end = start + len(old)
    begins = start == 0 or text[start - 1] == "\n"
    return begins and (old.endswith("\n") or end == len(text) or text[end] == "\n")


def _glues(text: str, start: int, reading: Reading) -> bool:
    """Only `old` ends with a newline, so that the next line would be glued to what comes instead."""
    end = start + len(reading.old)
    slip = reading.old.endswith("\n") and not reading.new.endswith("\n")
    return slip and bool(reading.new) and end < len(text) and text[end] != "\n"


def _literal(source: Source, start: int, reading: Reading) -> str:
    return source.text[:start] + reading.new + source.text[start + len(reading.old) :]


def _after_heads(hunk: Hunk) -> str:
    return "after " + " / ".join(repr(head) for head in hunk.heads)


def _heads_problem(source: Source, hunk: Hunk, allowed: Sequence[tuple[int, int]]) -> str:
    if not allowed:
        return f"no line {_after_heads(hunk).removeprefix('after ')} in the file"
    places = ", ".join(str(first) for first, _ in allowed)
    return f"{_after_heads(hunk)} is said of several places (lines {places}): give lines of context"
