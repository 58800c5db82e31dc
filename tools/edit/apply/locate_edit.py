"""Locate the one place that an edit means, and compute its splices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.edit.adapt.missing_indentation import indent_later_lines
from tools.edit.adapt.shared_indentation import refuse_lost_indentation
from tools.edit.adapt.unwrapping import unwrap_new_text
from tools.edit.apply.already_applied import (
    refuse_already_applied_hunk,
    refuse_already_replaced,
    refuse_placeholders,
    refuse_repeated_insertion,
)
from tools.edit.apply.apply_site import (
    MAX_COMPARED,
    LocatedEdit,
    has_surplus_newline,
    place_edit,
    resolve_sites,
)
from tools.edit.apply.hunk_merge import LineSplice
from tools.edit.apply.splicing import TextSplice, adjust_final_newline, to_text_splice
from tools.edit.edit_model import Hunk, Line, Lines, Replace, Symbol
from tools.edit.formats.cleanup import has_fence
from tools.edit.formats.placeholders import is_omission
from tools.edit.indentation import has_mixed_indentation, indent_of
from tools.edit.match import exact_match
from tools.edit.match.ambiguous import AmbiguousEdit
from tools.edit.match.exact_ambiguity import (
    find_twins,
    has_white_space_left,
    is_first_line_deeper,
    is_other_line,
    is_rest_of_lines,
    refuse_interleaved_lines,
    refuse_misleading_match,
    refuse_twins,
    refuse_whole_twins,
)
from tools.edit.match.hunk_diff import diff_lines
from tools.edit.match.hunk_scope import find_scopes
from tools.edit.match.line_numbers import filter_by_line_numbers, strip_hunk_numbers
from tools.edit.match.matchers import (
    STEPS,
    Rung,
    Site,
    Source,
    find_sites,
    has_distinctive_word,
    is_distinctive,
)
from tools.edit.match.readings import (
    NUMBERED,
    OLD_FENCED,
    UNMARKED,
    Reading,
    generate_readings,
    reading_to_hunk,
    split_reading,
)
from tools.edit.match.refusal_messages import EditRefused, format_not_found, format_several_places
from tools.edit.match.typography import refuse_typographic_bullets


def locate_replace(
    source: Source, edit: Replace, path: str, written: Sequence[tuple[int, int]], strictest: bool
) -> LocatedEdit:
    """Locate a text replacement. Raises EditRefused.

    written: parts of the text that earlier edits made; other places are preferred
    """
    if not edit.old.strip():
        raise EditRefused("`old` is empty: give the text to replace")
    if edit.old == edit.new:
        raise EditRefused("`old` and `new` are the same")
    if "\r" in edit.old + edit.new and "\r" not in source.text:
        edit = replace(edit, old=_normalize_newlines(edit.old), new=_normalize_newlines(edit.new))
    if edit.old.endswith("\n") and not source.text.endswith("\n") and source.text.endswith(edit.old[:-1]):
        # the file's end has no newline
        old, new = edit.old[:-1], edit.new.removesuffix("\n")
        whole = not new and _is_whole_lines(source.text, len(source.text) - len(old), old)
        edit = replace(edit, old=old, new=new, whole_lines=edit.whole_lines or whole)
    options = list(generate_readings(edit))[: 1 if strictest else None]
    options = [each for each in options if not _has_file_fence(source, each)]
    options = filter_by_line_numbers(source, edit.old, options)
    for reading in options:
        if found := _locate_exact(source, edit, reading, path, written):
            return found
    if edit.all:
        raise EditRefused(format_not_found(source, edit.old))
    if not strictest and is_distinctive(edit.old):
        hunks = [(reading, reading_to_hunk(reading)) for reading in options]
        for found in _locate_tolerant(source, hunks):
            return found
    if edit.whole_lines and not strictest and (part := _locate_part_of_line(source, edit, path)):
        return part
    for reading in options:
        refuse_already_replaced(source, reading.old, reading.new)
    raise EditRefused(format_not_found(source, edit.old))


def locate_hunk(source: Source, hunk: Hunk, strictest: bool) -> LocatedEdit:
    """Locate a hunk. Raises EditRefused."""
    allowed = find_scopes(source, hunk.heads)
    if not allowed and hunk.old:
        allowed = None  # no such head: lines that occur only once need none
    if not any(line.op != "+" for line in hunk.lines):
        return _locate_added_lines(source, hunk, allowed)
    _refuse_unintended_lines(source, hunk.lines)
    everywhere = exact_match.find_whole_lines(source.text, hunk.old)
    numbers = _filter_allowed_rows(everywhere, len(hunk.old), hunk, allowed, source)
    if everywhere and not numbers:
        numbers = everywhere  # not where the head says: then only lines that occur just once can be meant
    if len(numbers) > 1 and hunk.start is not None and hunk.counted and hunk.start - 1 in numbers:
        # the diff knows its file: its counts are right, and its lines are where it says
        numbers = [hunk.start - 1]
    if numbers:
        if not (hunk.counted and hunk.start == numbers[0] + 1):
            rung, alike = find_twins(source, hunk.old)
            refuse_twins(source, numbers[0], rung, _filter_allowed_sites(alike, hunk, allowed, source))
        found = [_build_exact_site(number, len(hunk.old)) for number in numbers]
        return resolve_sites(source, found, hunk, Rung.EXACT)
    if not strictest and is_distinctive("\n".join(hunk.old)):
        for loose in _locate_tolerant(source, [(None, hunk), *strip_hunk_numbers(source, hunk)], allowed):
            return loose
    if len(made := exact_match.find_whole_lines(source.text, hunk.new)) == 1 and hunk.new:
        raise EditRefused(f"already applied: its new lines stand at line {made[0] + 1}", already=True)
    where = f"{_format_heads(hunk)}: " if hunk.heads else ""
    raise EditRefused(where + format_not_found(source, "\n".join(hunk.old)))


def locate_lines(source: Source, edit: Lines) -> LocatedEdit:
    """Locate a range of lines. Raises EditRefused."""
    total = len(source.lines)
    if not (1 <= edit.first <= edit.last + 1 and edit.last <= total):
        raise EditRefused(f"there are no lines {edit.first}–{edit.last}: the file has {total}")
    new = edit.new.removesuffix("\n").split("\n") if edit.new else []
    splice = LineSplice(first=edit.first - 1, end=edit.last, lines=tuple(new))
    return LocatedEdit(rung=Rung.POSITION, splices=(to_text_splice(source, splice),))


def locate_symbol(source: Source, edit: Symbol, path: str) -> LocatedEdit:
    """Locate a symbol. Raises EditRefused."""
    from tools.code.symbols import SymbolAmbiguous, SymbolNotFound, build_replacement, find_symbol

    try:
        definition = find_symbol(path, source.text, edit.name)
        first, last, new = build_replacement(source.text, definition, edit.new)
    except (SymbolNotFound, SymbolAmbiguous, ValueError) as problem:
        raise EditRefused(str(problem)) from None
    lines = new.removesuffix("\n").split("\n") if new else []
    splice = LineSplice(first=first - 1, end=last, lines=tuple(lines))
    return LocatedEdit(rung=Rung.SYMBOL, splices=(to_text_splice(source, splice),))


def _has_file_fence(source: Source, reading: Reading) -> bool:
    """Return whether a Markdown fence stripped from `old` only may be one of the file's."""
    return OLD_FENCED in reading.note and has_fence(source.text)


def _locate_part_of_line(source: Source, edit: Replace, path: str) -> LocatedEdit | None:
    """Locate a block's single line as a part of the only line that contains it. None if that would leave only
    white space around it.
    """
    old, new = edit.old.removesuffix("\n"), edit.new.removesuffix("\n")
    starts = exact_match.find_occurrences(source.text, old) if "\n" not in old else []
    if (
        len(starts) != 1
        or "\n" in new
        or (edit.new and not new)
        or is_first_line_deeper(source.text, starts[0], old)
    ):
        return None
    if has_white_space_left(source, starts[0], old, new):
        return None
    splice = _build_part_splice(source, starts[0], Reading(old=old, new=new), path, keep_end=False)
    return LocatedEdit(rung=Rung.EXACT, splices=(splice,), note="taken as a part of a line")


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").removesuffix("\r")


def _locate_exact(
    source: Source, edit: Replace, reading: Reading, path: str, written: Sequence[tuple[int, int]]
) -> LocatedEdit | None:
    if edit.whole_lines:
        hunk = reading_to_hunk(reading)
        starts = [source.offset(number) for number in exact_match.find_whole_lines(source.text, hunk.old)]
    else:
        starts = exact_match.find_occurrences(source.text, reading.old)
    if NUMBERED in reading.note or UNMARKED in reading.note:  # lines with such marks are whole ones
        starts = [at for at in starts if not source.text[source.text.rfind("\n", 0, at) + 1 : at].strip()]
    starts = _exclude_written(starts, len(reading.old), written)
    if not edit.all and any(is_first_line_deeper(source.text, start, reading.old) for start in starts):
        # as whole lines they may still occur once
        starts = [start for start in starts if _is_whole_lines(source.text, start, reading.old)]
    if not edit.all:
        starts = [start for start in starts if not is_other_line(source.text, start, reading.old)]
    if not starts:
        return None
    _refuse_unintended_lines(source, reading_to_hunk(reading).lines)
    if edit.all:
        parts = exact_match.select_disjoint(starts, len(reading.old))
        found = tuple(
            TextSplice(start=start, end=start + len(reading.old), new=reading.new) for start in parts
        )
        return LocatedEdit(rung=Rung.EXACT, splices=found, note=reading.note, apart=True)
    _refuse_final_line_twin(source, reading.old, starts)
    if len(starts) > 1:
        results = {_replace_at(source, start, reading) for start in starts[:MAX_COMPARED]}
        if len(results) > 1 or len(starts) > MAX_COMPARED:
            hint = "" if edit.whole_lines else ", or all=true"
            raise EditRefused(
                format_several_places(source, [source.line_at(start) for start in starts], "", hint)
            )
    start = next((each for each in starts if _is_whole_lines(source.text, each, reading.old)), starts[0])
    if has_white_space_left(source, start, reading.old, reading.new):
        if not is_distinctive(reading.old):
            raise EditRefused(
                f"line {source.line_at(start) + 1} ends in white space that `old` has not: give it to its end"
            )
        return None  # whole lines, except for white space at the end of the last one
    refuse_misleading_match(source, start, reading.old, reading.new)
    refuse_repeated_insertion(source, start, reading)
    if path:
        new, note = unwrap_new_text(path, source.text, start, reading.old, reading.new)
        reading = replace(reading, new=new, note=", ".join(filter(None, (reading.note, note))))
    _refuse_lost_indentation(source, start, reading)
    # with an empty replacement, the line end before these lines is removed, not the one after them
    from_line_end = not reading.new and reading.old.startswith("\n") and not reading.old.endswith("\n")
    from_line_end = from_line_end and not edit.whole_lines
    if _is_whole_lines(source.text, start, reading.old) and not from_line_end:
        glues = _has_missing_newline(source.text, start, reading)
        hunk = Hunk(lines=tuple(diff_lines(*split_reading(reading, literal=not glues))))
        site = _build_exact_site(source.line_at(start), len(hunk.old))
        if glues:  # the surplus newline may be a blank line
            refuse_whole_twins(source, reading.old.split("\n"), site)
        return place_edit(source, site, hunk, Rung.EXACT, reading.note)
    splice = _build_part_splice(source, start, reading, path, keep_end=from_line_end)
    return LocatedEdit(rung=Rung.EXACT, splices=(splice,), note=reading.note)


def _refuse_final_line_twin(source: Source, old: str, starts: Sequence[int]) -> None:
    """Raise EditRefused if the lines also occur at the end of the file, which has no final newline."""
    if not old.endswith("\n") or source.ends_with_newline or not source.text.endswith(old[:-1]):
        return
    last = len(source.text) - len(old) + 1
    if starts[0] != last and _is_whole_lines(source.text, last, old[:-1]):
        raise EditRefused(
            format_several_places(source, [source.line_at(start) for start in (starts[0], last)], "")
        )


def _build_part_splice(
    source: Source, start: int, reading: Reading, path: str, *, keep_end: bool
) -> TextSplice:
    """Build the splice for old text that is not whole lines, or is literal. keep_end: the line end after it
    stays
    """
    end = start + len(reading.old)
    if not reading.new and not keep_end and is_rest_of_lines(source.text, start, reading.old):
        start = source.text.rfind("\n", 0, start) + 1
        if end == len(source.text) and not source.ends_with_newline:
            start = max(start - 1, 0)  # the file stays without a final newline
        end = min(end + (not reading.old.endswith("\n")), len(source.text))
    new = indent_later_lines(source, start, reading.old, reading.new, path)
    _refuse_torn_line(source, start, reading)
    _refuse_mixed_indentation(source, start, reading.old, new)
    line_start = source.text.rfind("\n", 0, start) + 1
    if new.isspace() and "\n" not in new and source.text[line_start:start].isspace():
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but lacks its indentation, so how much white "
            "space is to be left there is not clear: leave `new` empty, or give `old` as the file has it"
        )
    if "\n" in new and not new.partition("\n")[0].strip() and source.text[line_start:start].isspace():
        start, new = line_start, new.lstrip(" \t")  # a blank line comes first: replace the indentation
    line_end = source.text.find("\n", end)
    behind = source.text[end : line_end if line_end >= 0 else len(source.text)]
    if behind.isspace() and new.endswith(behind):  # `new` has the space that `old` lost
        end += len(behind)
    return TextSplice(start=start, end=end, new=new)


def _refuse_torn_line(source: Source, start: int, reading: Reading) -> None:
    """Raise EditRefused if whole lines are added next to a part of a line: that would tear words off it, and
    another place where the part is a whole line may be meant.
    """
    old, new = reading.old.strip("\n"), reading.new.strip("\n")
    if "\n" in old:
        return
    text, end = source.text, start + len(reading.old)
    line_end = text.find("\n", end)
    before, behind = (
        text[text.rfind("\n", 0, start) + 1 : start],
        text[end:line_end] if line_end >= 0 else text[end:],
    )
    if (new.startswith(f"{old}\n") and has_distinctive_word(behind)) or (
        new.endswith(f"\n{old}") and has_distinctive_word(before)
    ):
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but is a part of it, and `new` has lines beside it: "
            "give the whole line"
        )


def _refuse_mixed_indentation(source: Source, start: int, old: str, new: str) -> None:
    """Raise EditRefused if new lines have tabs in a file of spaces, or the reverse, and no old line is
    indented.
    """
    given = [indent_of(line) for line in new.split("\n")[1:] if line.strip()]
    if has_mixed_indentation(given, source.tabs) and not any(
        line[:1] in (" ", "\t") for line in old.split("\n")[1:]
    ):
        raise EditRefused(
            f"`old` was found at line {source.line_at(start) + 1}, but whether `new` is to be indented by tabs or by "
            "spaces is not clear: give it as the file has it"
        )


def _refuse_lost_indentation(source: Source, start: int, reading: Reading) -> None:
    """Apply `refuse_lost_indentation` to text at `start`; its first line counts if only white space precedes
    it.
    """
    before = source.text[source.text.rfind("\n", 0, start) + 1 : start]
    old, new = ((before + text).split("\n") for text in (reading.old, reading.new))
    skipped = 1 if before.strip() else 0
    try:
        refuse_lost_indentation(old[skipped:], new[skipped:])
    except AmbiguousEdit as problem:
        raise EditRefused(f"`old` was found at line {source.line_at(start) + 1}, but {problem}") from None


def _refuse_unintended_lines(source: Source, lines: Iterable[Line]) -> None:
    refuse_placeholders(source, lines)
    refuse_typographic_bullets(source, lines)


def _locate_tolerant(
    source: Source,
    options: Sequence[tuple[Reading | None, Hunk]],
    allowed: Sequence[tuple[int, int]] | None = None,
) -> Iterable[LocatedEdit]:
    """Yield the edit at the strictest rung below the exact one at which an option has its one site."""
    from tools.edit.match.approximate import find_anchored_sites, find_elided_sites

    for reading, hunk in options:
        if reading is None or not reading.note:
            _refuse_unintended_lines(source, hunk.lines)
    for step in STEPS[1:]:
        for reading, hunk in options:
            if found := _filter_allowed_sites(find_sites(source, hunk.old, step), hunk, allowed, source):
                if len(found) == 1 and step.rung is Rung.TRAILING:
                    spare = reading is not None and has_surplus_newline(reading)
                    wanted = reading.old.split("\n") if reading and spare else hunk.old
                    refuse_whole_twins(source, wanted, found[0])
                if len(found) == 1 and step == STEPS[2]:
                    deeper = find_sites(source, hunk.old, STEPS[3])  # all lines, but at another depth
                    if others := [
                        site.first for site in _filter_allowed_sites(deeper, hunk, allowed, source)
                    ]:
                        raise EditRefused(
                            format_several_places(source, [found[0].first, *others], f" ({STEPS[3].rung})")
                        )
                if len(found) == 1 and not step.skips_blank:
                    rung, alike = find_twins(source, hunk.old, step)
                    refuse_twins(
                        source, found[0].first, rung, _filter_allowed_sites(alike, hunk, allowed, source)
                    )
                if len(found) == 1:
                    refuse_interleaved_lines(source, hunk.old, found[0], step.rung)
                yield resolve_sites(source, found, hunk, step.rung, reading)
    for _, hunk in options:
        refuse_already_applied_hunk(source, hunk)
    for reading, hunk in options:
        if any(is_omission(line) for line in hunk.old):
            _, found = find_elided_sites(source, hunk.old)
            if found := _filter_allowed_sites(found, hunk, allowed, source):
                yield resolve_sites(source, found, hunk, Rung.ELISION, reading)
    for reading, hunk in options:
        removed = [line.op == "-" for line in hunk.lines if line.op != "+"]
        if found := _filter_allowed_sites(
            find_anchored_sites(source, hunk.old, removed), hunk, allowed, source
        ):
            yield resolve_sites(source, found, hunk, Rung.ANCHORS, reading)


def _locate_added_lines(source: Source, hunk: Hunk, allowed: Sequence[tuple[int, int]] | None) -> LocatedEdit:
    """Place added lines that have no context: after the last head, or at the end. Raises EditRefused."""
    lines = tuple(line.text for line in hunk.lines)
    if hunk.heads and allowed is not None:
        if len(allowed) != 1:
            raise EditRefused(_format_heads_problem(source, hunk, allowed))
        at = allowed[0][0]
    elif hunk.appends or hunk.at_end or not source.lines:
        at = len(source.lines)
    else:
        raise EditRefused("it adds lines, but has none that says where: give lines of context")
    splice = to_text_splice(source, LineSplice(first=at, end=at, lines=lines))
    texts = [splice]
    if at == len(source.lines):
        texts = adjust_final_newline(source, hunk, texts)
    return LocatedEdit(rung=Rung.EXACT, splices=tuple(texts))


def _filter_allowed_rows(
    numbers: Sequence[int], size: int, hunk: Hunk, allowed: Sequence[tuple[int, int]] | None, source: Source
) -> list[int]:
    found = [_build_exact_site(number, size) for number in numbers]
    return [site.first for site in _filter_allowed_sites(found, hunk, allowed, source)]


def _filter_allowed_sites(
    found: Sequence[Site], hunk: Hunk, allowed: Sequence[tuple[int, int]] | None, source: Source
) -> list[Site]:
    """Return the sites that are where the hunk says: below its heads, at the end of the file."""
    kept = list(found)
    if allowed is not None:
        kept = [site for site in kept if any(first <= site.first < end for first, end in allowed)]
    if hunk.no_newline in ("-", " "):
        # its old lines are stated to be the last
        kept = [site for site in kept if site.end == len(source.lines)]
    if hunk.at_end and len(kept) > 1:
        kept = [site for site in kept if not any(line.strip() for line in source.lines[site.end :])]
    return kept


def _build_exact_site(number: int, size: int) -> Site:
    return Site(first=number, end=number + size, pairs=tuple((i, number + i) for i in range(size)))


def _exclude_written(starts: Sequence[int], length: int, written: Sequence[tuple[int, int]]) -> list[int]:
    """Return the matches outside text written by earlier edits, or all if there are none: the model saw the
    former.
    """
    free = [s for s in starts if not any(s < end and start < s + length for start, end in written)]
    return free or list(starts)


def _is_whole_lines(text: str, start: int, old: str) -> bool:
    end = start + len(old)
    begins = start == 0 or text[start - 1] == "\n"
    return begins and (old.endswith("\n") or end == len(text) or text[end] == "\n")


def _has_missing_newline(text: str, start: int, reading: Reading) -> bool:
    """Return whether only `old` ends with a newline, so that the next line would be glued to the replacement."""
    end = start + len(reading.old)
    slip = reading.old.endswith("\n") and not reading.new.endswith("\n")
    return slip and bool(reading.new) and end < len(text) and text[end] != "\n"


def _replace_at(source: Source, start: int, reading: Reading) -> str:
    return source.text[:start] + reading.new + source.text[start + len(reading.old) :]


def _format_heads(hunk: Hunk) -> str:
    return "after " + " / ".join(repr(head) for head in hunk.heads)


def _format_heads_problem(source: Source, hunk: Hunk, allowed: Sequence[tuple[int, int]]) -> str:
    if not allowed:
        return f"no line {_format_heads(hunk).removeprefix('after ')} in the file"
    places = ", ".join(str(first) for first, _ in allowed)
    return f"{_format_heads(hunk)} is said of several places (lines {places}): give lines of context"
