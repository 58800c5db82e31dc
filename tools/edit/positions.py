"""Edits that name their place themselves: line ranges, symbols, and lines added without context."""

from __future__ import annotations

from tools.edit.edit_model import Hunk, Lines, Symbol
from tools.edit.match.hunk_scope import find_scopes
from tools.edit.match.matchers import Rung, Source
from tools.edit.refusal import EditRefused
from tools.edit.splicing import LineSplice, adjust_final_newline, to_text_splice
from tools.edit.stage_values import LocatedEdit, Scopes


def locate_lines(source: Source, edit: Lines) -> LocatedEdit:
    """Locate a range of lines. Raises EditRefused."""
    total = len(source.lines)
    if not (1 <= edit.first <= edit.last + 1 and edit.last <= total):
        raise EditRefused(f"there are no lines {edit.first}–{edit.last}: the file has {total}")
    return _replace_lines(source, Rung.POSITION, edit.first, edit.last, edit.new)


def locate_symbol(source: Source, edit: Symbol, path: str) -> LocatedEdit:
    """Locate a symbol. Raises EditRefused."""
    from tools.code.symbols import SymbolAmbiguous, SymbolNotFound, build_replacement, find_symbol

    try:
        definition = find_symbol(path, source.text, edit.name)
        first, last, new = build_replacement(source.text, definition, edit.new)
    except (SymbolNotFound, SymbolAmbiguous, ValueError) as problem:
        raise EditRefused(str(problem)) from None
    return _replace_lines(source, Rung.SYMBOL, first, last, new)


def locate_addition(source: Source, hunk: Hunk) -> LocatedEdit:
    """Locate added lines without context: after the last head, or at the end. Raises EditRefused."""
    lines = tuple(line.text for line in hunk.lines)
    scopes = find_scopes(source, hunk.heads)
    if scopes is not None:
        if len(scopes) != 1:
            raise EditRefused(_format_heads_problem(hunk, scopes))
        at = scopes[0][0]
    elif hunk.appends or hunk.at_end or not source.lines:
        at = len(source.lines)
    else:
        raise EditRefused("it adds lines, but has none that says where: give lines of context")
    splices = [to_text_splice(source, LineSplice(first=at, end=at, lines=lines))]
    if at == len(source.lines):
        splices = adjust_final_newline(source, hunk, splices)
    return LocatedEdit(rung=Rung.EXACT, splices=tuple(splices))


def _replace_lines(source: Source, rung: Rung, first: int, last: int, new: str) -> LocatedEdit:
    """Replace lines `first` to `last`, from 1, both included."""
    lines = new.removesuffix("\n").split("\n") if new else []
    splice = LineSplice(first=first - 1, end=last, lines=tuple(lines))
    return LocatedEdit(rung=rung, splices=(to_text_splice(source, splice),))


def _format_heads_problem(hunk: Hunk, scopes: Scopes) -> str:
    heads = " / ".join(map(repr, hunk.heads))
    if not scopes:
        return f"no line {heads} in the file"
    places = ", ".join(str(first) for first, _ in scopes)
    return f"after {heads} is said of several places (lines {places}): give lines of context"
