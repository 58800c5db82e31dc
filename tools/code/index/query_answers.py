"""Answers of the index as short texts: symbol, path:line, one line of code. Never a dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.code.index.code_index import Index
from tools.code.index.symbol_queries import (
    FoundDefinition,
    Use,
    find_callees,
    find_definitions,
    find_impacted_tests,
    find_importers,
    find_references,
    find_similar_files,
    find_similar_names,
    resolve_imports,
)
from tools.core.text import clip, format_count

MOST = 40
"""Lines of an answer; omitted ones are counted."""

MAX_CODE = 120
"""Characters of a line of code."""

MAX_SHOWN = 200
"""Lines of a shown definition."""

COUNTED = 2000
"""Uses after which counting stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: for a user or a model; data: the same as JSON; empty: nothing was found"""

    text: str
    data: Any
    empty: bool = False


def answer_query(index: Index, action: str, target: str) -> Answer:
    """Answer one query. Raises UserError for an unknown action or an invalid target."""
    act = ACTIONS.get(action)
    if act is None:
        raise UserError(Fault.USAGE, f"no action {action!r}", f"There are {', '.join(ACTIONS)}.")
    if not target.strip() and action not in ("outline", "tests"):
        raise UserError(Fault.USAGE, f"{action}: no target", "Give a name, a path or a text.")
    return act(index, target.strip())


def _answer_outline(index: Index, target: str) -> Answer:
    path = _to_relative_path(index, target)
    if path in index:
        outline = index.outline(path)
        lines = [
            f"  {each.first}–{each.last}: {'  ' * each.name.count('.')}{each.signature}"
            for each in outline.symbols
            if each.kind != "variable"
        ]
        data = {"path": path, "lines": outline.lines, "symbols": [asdict(each) for each in outline.symbols]}
        head = f"{path} ({outline.language}, {format_count(outline.lines, 'line')})"
        return Answer(text=_format_listing(head, lines, 120), data=data)
    folder = "" if path in (".", "") else path.rstrip("/") + "/"
    inside = [each for each in index.paths if each.startswith(folder)]
    if not inside:
        raise _build_no_file_error(index, target)
    near = [each for each in inside if "/" not in each[len(folder) :]]
    folders: dict[str, int] = {}
    for each in inside:
        if "/" in (rest := each[len(folder) :]):
            name = folder + rest.split("/")[0] + "/"
            folders[name] = folders.get(name, 0) + 1
    lines = [f"  {name}  {format_count(count, 'file')}" for name, count in folders.items()]
    names: dict[str, list[str]] = {}
    for each, outline in index.outlines(near).items():
        names[each] = [
            symbol.name for symbol in outline.symbols if "." not in symbol.name and symbol.kind != "variable"
        ]
    lines += [f"  {each}  {clip(', '.join(names.get(each, ())), MAX_CODE)}".rstrip() for each in near]
    return Answer(
        text=_format_listing(
            f"{path or '.'}: {format_count(len(inside), 'file')} in languages that are indexed", lines, 80
        ),
        data={"folders": folders, "files": names},
    )


def _answer_find(index: Index, target: str) -> Answer:
    found = find_definitions(index, target)
    if not found:
        return _answer_unknown_name(index, target)
    lines = [_format_definition(each) for each in found]
    return Answer(
        text=_format_listing(f"{target}: {format_count(len(found), 'definition')}", lines),
        data=_definitions_to_data(found),
    )


def _format_definition(each: FoundDefinition) -> str:
    doc = f"  # {clip(each.symbol.doc, 80)}" if each.symbol.doc else ""
    return f"  {each.path}:{each.symbol.line}: {clip(each.symbol.signature, MAX_CODE)}  ({each.symbol.name}){doc}"


def _answer_show(index: Index, target: str) -> Answer:
    found = find_definitions(index, target)
    if not found:
        return _answer_unknown_name(index, target)
    first = found[0]
    lines = index.read_source(first.path).split("\n")
    start, end = first.symbol.first, min(first.symbol.last, first.symbol.first + MAX_SHOWN - 1)
    text = [f"{first.path}:{start}–{first.symbol.last}: {first.symbol.name}"]
    text += [f"{number}\t{lines[number - 1]}" for number in range(start, min(end, len(lines)) + 1)]
    if end < first.symbol.last:
        text.append(f"… {first.symbol.last - end} more lines: read them")
    if len(found) > 1:
        text += [f"{len(found) - 1} more of this name:", *[_format_definition(each) for each in found[1:9]]]
    return Answer(text="\n".join(text), data=_definitions_to_data(found))


def _answer_references(index: Index, target: str) -> Answer:
    return _answer_uses(index, target, calls=False)


def _answer_callers(index: Index, target: str) -> Answer:
    return _answer_uses(index, target, calls=True)


def _answer_uses(index: Index, target: str, *, calls: bool) -> Answer:
    uses = list(islice(find_references(index, target, calls=calls), COUNTED))
    if not uses:
        if find_definitions(index, target):
            word = "call" if calls else "use"
            return Answer(text=f"{target}: no {word} of that name", data=[], empty=True)
        return _answer_unknown_name(index, target)
    return format_uses(target, uses, "of that name", calls=calls)


def format_uses(target: str, uses: Sequence[Use], whose: str, *, calls: bool) -> Answer:
    """Format uses as lines under their files. whose: text after the count ("of that name")"""
    word = "call" if calls else "use"
    lines, last = [], ""
    for each in uses:
        if each.path != last:
            lines.append(f"  {each.path}")
            last = each.path
        within = f"  (in {each.within})" if each.within else ""
        lines.append(f"    {each.line}: {clip(each.code, MAX_CODE)}{within}")
    files = len({each.path for each in uses})
    more = "+" if len(uses) == COUNTED else ""
    head = f"{target}: {len(uses)}{more} {word}{'s' if len(uses) != 1 else ''} {whose} in {format_count(files, 'file')}"
    return Answer(text=_format_listing(head, lines, 80), data=[asdict(each) for each in uses], empty=not uses)


def _answer_callees(index: Index, target: str) -> Answer:
    found = find_definitions(index, target)
    if not found:
        return _answer_unknown_name(index, target)
    calls = find_callees(index, found[0])
    lines = []
    for each in calls:
        first, more = each.definitions[0], len(each.definitions) - 1
        others = f" and {more} more" if more else ""
        lines.append(
            f"  {each.line}: {each.name} → {first.path}:{first.symbol.line} {first.symbol.name}{others}"
        )
    where = found[0]
    count = format_count(len(calls), "name")
    head = f"{where.path}:{where.symbol.line}: {where.symbol.name} calls {count} defined here"
    data = [
        {"name": c.name, "line": c.line, "definitions": _definitions_to_data(c.definitions)} for c in calls
    ]
    return Answer(text=_format_listing(head, lines), data=data, empty=not calls)


def _answer_imports(index: Index, target: str) -> Answer:
    path = _to_relative_path(index, target)
    if path not in index:
        raise _build_no_file_error(index, target)
    there = resolve_imports(index, path)
    users = find_importers(index, path)
    inside = [(line, module, to) for line, module, to in there if to]
    outside = [module for _, module, to in there if not to]
    lines = [f"  {line}: {module} → {', '.join(to)}" for line, module, to in inside]
    if outside:
        lines.append(f"  from elsewhere: {clip(', '.join(dict.fromkeys(outside)), 300)}")
    lines.append(f"imported by {format_count(len(users), 'file')}")
    lines += [f"  {each}" for each in users]
    data = {
        "imports": [{"line": n, "module": m, "files": list(to)} for n, m, to in there],
        "imported_by": users,
    }
    return Answer(text=_format_listing(f"{path} imports", lines, 60), data=data)


def _answer_similar(index: Index, target: str) -> Answer:
    found = find_similar_files(index, target)
    lines = [f"  {score:5.1f}  {path}" for path, score in found]
    return Answer(
        text=_format_listing("files with the most like words", lines),
        data=[{"path": path, "score": round(score, 3)} for path, score in found],
        empty=not found,
    )


def _answer_tests(index: Index, target: str) -> Answer:
    paths = [_to_relative_path(index, each) for each in target.replace(",", " ").split()]
    for each in paths:
        if each not in index:
            raise _build_no_file_error(index, each)
    if not paths:
        raise UserError(Fault.USAGE, "tests: no target", "Give the paths of files that change.")
    found = find_impacted_tests(index, paths)
    lines = [f"  {path}  ({why})" for path, why in found]
    return Answer(
        text=_format_listing(
            f"{format_count(len(found), 'test file')} may notice a change, the nearest first", lines
        ),
        data=[{"path": path, "why": why} for path, why in found],
        empty=not found,
    )


ACTIONS: Mapping[str, Callable[[Index, str], Answer]] = {
    "outline": _answer_outline,
    "find": _answer_find,
    "show": _answer_show,
    "references": _answer_references,
    "callers": _answer_callers,
    "callees": _answer_callees,
    "imports": _answer_imports,
    "similar": _answer_similar,
    "tests": _answer_tests,
}
"""Queries by action: outline and imports take a path, tests take paths, similar a text, the others a name."""


def _answer_unknown_name(index: Index, target: str) -> Answer:
    close = find_similar_names(index, target)
    hint = f". Nearest: {', '.join(close)}" if close else ""
    return Answer(text=f"{target}: nothing of that name is defined here{hint}", data=[], empty=True)


def _build_no_file_error(index: Index, target: str) -> UserError:
    import difflib

    close = difflib.get_close_matches(target, index.paths, n=3)
    return UserError(
        Fault.USAGE, f"no indexed file or folder {target!r}", f"Nearest: {', '.join(close)}." if close else ""
    )


def _to_relative_path(index: Index, target: str) -> str:
    path = target.removeprefix(str(index.root) + "/").removeprefix("./").rstrip("/")
    return path if path and target != str(index.root) else "."


def _definitions_to_data(found: Sequence[FoundDefinition]) -> list[dict[str, Any]]:
    return [{"path": each.path, **asdict(each.symbol)} for each in found]


def _format_listing(head: str, lines: Sequence[str], most: int = MOST) -> str:
    left = len(lines) - most
    return "\n".join([head, *lines[:most], *([f"  … {left:,} more"] if left > 0 else [])])
