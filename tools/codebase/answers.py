"""Answers of the index as short texts: symbol, path:line, one line of code. Never a dump."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any

from sandbox.errors import Fault, UserError
from tools.codebase.index import Index
from tools.codebase.queries import (
    Found,
    Use,
    callees,
    find,
    impacted_tests,
    imported,
    importers,
    nearest,
    references,
    similar,
)
from tools.text import clip, plural

MOST = 40
"""Lines of an answer; what is left out is counted."""

MAX_CODE = 120
"""Characters of a line of code."""

MAX_SHOWN = 200
"""Lines of a definition that is shown."""

COUNTED = 2000
"""Uses after which counting stops."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """text: for a person or a model; data: the same for a program; empty: nothing was found"""

    text: str
    data: Any
    empty: bool = False


def answer(index: Index, action: str, target: str) -> Answer:
    """Ask one thing. Raises UserError for an unknown action or a target that does not fit it."""
    act = ACTIONS.get(action)
    if act is None:
        raise UserError(Fault.USAGE, f"no action {action!r}", f"There are {', '.join(ACTIONS)}.")
    if not target.strip() and action not in ("outline", "tests"):
        raise UserError(Fault.USAGE, f"{action}: no target", "Give a name, a path or a text.")
    return act(index, target.strip())


def _outline(index: Index, target: str) -> Answer:
    path = _relative(index, target)
    if path in index:
        outline = index.outline(path)
        lines = [
            f"  {each.first}–{each.last}: {'  ' * each.name.count('.')}{each.signature}"
            for each in outline.symbols
            if each.kind != "variable"
        ]
        data = {"path": path, "lines": outline.lines, "symbols": [asdict(each) for each in outline.symbols]}
        head = f"{path} ({outline.language}, {plural(outline.lines, 'line')})"
        return Answer(text=_listed(head, lines, 120), data=data)
    folder = "" if path in (".", "") else path.rstrip("/") + "/"
    inside = [each for each in index.paths if each.startswith(folder)]
    if not inside:
        raise _no_file(index, target)
    near = [each for each in inside if "/" not in each[len(folder) :]]
    folders: dict[str, int] = {}
    for each in inside:
        if "/" in (rest := each[len(folder) :]):
            name = folder + rest.split("/")[0] + "/"
            folders[name] = folders.get(name, 0) + 1
    lines = [f"  {name}  {plural(count, 'file')}" for name, count in folders.items()]
    names: dict[str, list[str]] = {}
    for each, outline in index.outlines(near).items():
        names[each] = [
            symbol.name for symbol in outline.symbols if "." not in symbol.name and symbol.kind != "variable"
        ]
    lines += [f"  {each}  {clip(', '.join(names.get(each, ())), MAX_CODE)}".rstrip() for each in near]
    return Answer(
        text=_listed(
            f"{path or '.'}: {plural(len(inside), 'file')} in languages that are indexed", lines, 80
        ),
        data={"folders": folders, "files": names},
    )


def _find(index: Index, target: str) -> Answer:
    found = find(index, target)
    if not found:
        return _unknown(index, target)
    lines = [_definition(each) for each in found]
    return Answer(
        text=_listed(f"{target}: {plural(len(found), 'definition')}", lines), data=_found_data(found)
    )


def _definition(each: Found) -> str:
    doc = f"  # {clip(each.symbol.doc, 80)}" if each.symbol.doc else ""
    return f"  {each.path}:{each.symbol.line}: {clip(each.symbol.signature, MAX_CODE)}  ({each.symbol.name}){doc}"


def _show(index: Index, target: str) -> Answer:
    found = find(index, target)
    if not found:
        return _unknown(index, target)
    first = found[0]
    lines = index.source(first.path).split("\n")
    start, end = first.symbol.first, min(first.symbol.last, first.symbol.first + MAX_SHOWN - 1)
    text = [f"{first.path}:{start}–{first.symbol.last}: {first.symbol.name}"]
    text += [f"{number}\t{lines[number - 1]}" for number in range(start, min(end, len(lines)) + 1)]
    if end < first.symbol.last:
        text.append(f"… {first.symbol.last - end} more lines: read them")
    if len(found) > 1:
        text += [f"{len(found) - 1} more of this name:", *[_definition(each) for each in found[1:9]]]
    return Answer(text="\n".join(text), data=_found_data(found))


def _references(index: Index, target: str) -> Answer:
    return _used(index, target, calls=False)


def _callers(index: Index, target: str) -> Answer:
    return _used(index, target, calls=True)


def _used(index: Index, target: str, *, calls: bool) -> Answer:
    uses = list(islice(references(index, target, calls=calls), COUNTED))
    if not uses:
        if find(index, target):
            word = "call" if calls else "use"
            return Answer(text=f"{target}: no {word} of that name", data=[], empty=True)
        return _unknown(index, target)
    return used(target, uses, "of that name", calls=calls)


def used(target: str, uses: Sequence[Use], whose: str, *, calls: bool) -> Answer:
    """Uses as lines under their files. whose: what they are uses of, after the count ("of that name")"""
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
    head = f"{target}: {len(uses)}{more} {word}{'s' if len(uses) != 1 else ''} {whose} in {plural(files, 'file')}"
    return Answer(text=_listed(head, lines, 80), data=[asdict(each) for each in uses], empty=not uses)


def _callees(index: Index, target: str) -> Answer:
    found = find(index, target)
    if not found:
        return _unknown(index, target)
    calls = callees(index, found[0])
    lines = []
    for each in calls:
        first, more = each.definitions[0], len(each.definitions) - 1
        others = f" and {more} more" if more else ""
        lines.append(
            f"  {each.line}: {each.name} → {first.path}:{first.symbol.line} {first.symbol.name}{others}"
        )
    where = found[0]
    head = f"{where.path}:{where.symbol.line}: {where.symbol.name} calls {plural(len(calls), 'name')} defined here"
    data = [{"name": c.name, "line": c.line, "definitions": _found_data(c.definitions)} for c in calls]
    return Answer(text=_listed(head, lines), data=data, empty=not calls)


def _imports(index: Index, target: str) -> Answer:
    path = _relative(index, target)
    if path not in index:
        raise _no_file(index, target)
    there = imported(index, path)
    users = importers(index, path)
    inside = [(line, module, to) for line, module, to in there if to]
    outside = [module for _, module, to in there if not to]
    lines = [f"  {line}: {module} → {', '.join(to)}" for line, module, to in inside]
    if outside:
        lines.append(f"  from elsewhere: {clip(', '.join(dict.fromkeys(outside)), 300)}")
    lines.append(f"imported by {plural(len(users), 'file')}")
    lines += [f"  {each}" for each in users]
    data = {
        "imports": [{"line": n, "module": m, "files": list(to)} for n, m, to in there],
        "imported_by": users,
    }
    return Answer(text=_listed(f"{path} imports", lines, 60), data=data)


def _similar(index: Index, target: str) -> Answer:
    found = similar(index, target)
    lines = [f"  {score:5.1f}  {path}" for path, score in found]
    return Answer(
        text=_listed("files with the most like words", lines),
        data=[{"path": path, "score": round(score, 3)} for path, score in found],
        empty=not found,
    )


def _tests(index: Index, target: str) -> Answer:
    paths = [_relative(index, each) for each in target.replace(",", " ").split()]
    for each in paths:
        if each not in index:
            raise _no_file(index, each)
    if not paths:
        raise UserError(Fault.USAGE, "tests: no target", "Give the paths of files that change.")
    found = impacted_tests(index, paths)
    lines = [f"  {path}  ({why})" for path, why in found]
    return Answer(
        text=_listed(f"{plural(len(found), 'test file')} may notice a change, the nearest first", lines),
        data=[{"path": path, "why": why} for path, why in found],
        empty=not found,
    )


ACTIONS: Mapping[str, Callable[[Index, str], Answer]] = {
    "outline": _outline,
    "find": _find,
    "show": _show,
    "references": _references,
    "callers": _callers,
    "callees": _callees,
    "imports": _imports,
    "similar": _similar,
    "tests": _tests,
}
"""What can be asked: outline and imports of a path, tests of paths, similar of a text, the others of a name."""


def _unknown(index: Index, target: str) -> Answer:
    close = nearest(index, target)
    hint = f". Nearest: {', '.join(close)}" if close else ""
    return Answer(text=f"{target}: nothing of that name is defined here{hint}", data=[], empty=True)


def _no_file(index: Index, target: str) -> UserError:
    import difflib

    close = difflib.get_close_matches(target, index.paths, n=3)
    return UserError(
        Fault.USAGE, f"no indexed file or folder {target!r}", f"Nearest: {', '.join(close)}." if close else ""
    )


def _relative(index: Index, target: str) -> str:
    path = target.removeprefix(str(index.root) + "/").removeprefix("./").rstrip("/")
    return path if path and target != str(index.root) else "."


def _found_data(found: Sequence[Found]) -> list[dict[str, Any]]:
    return [{"path": each.path, **asdict(each.symbol)} for each in found]


def _listed(head: str, lines: Sequence[str], most: int = MOST) -> str:
    left = len(lines) - most
    return "\n".join([head, *lines[:most], *([f"  … {left:,} more"] if left > 0 else [])])
