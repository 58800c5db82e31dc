"""Loose ends of a change of Python: half of a change leaves names that nothing defines, or that nothing uses."""

from __future__ import annotations

import ast
import builtins
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from sandbox.lazy_dataclass import dataclass
from tools.code.index.parsing.identifier_words import IDENTIFIER

_KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__name__",
    "__path__",
    "__class__",
    "reveal_type",
    "WindowsError",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """Names of one file: bound anywhere in it, read, imported, unread parameters, own attributes."""

    bound: frozenset[str]
    read: frozenset[str]
    imported: frozenset[str]
    unread: frozenset[str]
    private: frozenset[str]
    own_read: frozenset[str]
    own_bound: frozenset[str]


def list_loose_ends(texts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield what is loose after a change and was not before it. texts: before and after, by path"""
    every = Counter(name for _, after in texts.values() for name in IDENTIFIER.findall(_drop_comments(after)))
    for path, (before, after) in texts.items():
        if not path.endswith(".py") or (new := _read_names(after, before)) is None:
            continue
        old = _read_names(before, after) or _read_names("", "")
        assert old is not None
        if "import *" not in after:
            for name in sorted((new.read - new.bound - _KNOWN) - (old.read - old.bound)):
                yield f"{name} is used in {path} and defined nowhere in it"
        if not path.endswith("__init__.py") and "__all__" not in after:
            for name in sorted(new.imported - old.imported):
                if len(re.findall(rf"\b{re.escape(name)}\b", after)) == 1:
                    yield f"{name} is imported in {path} and not used"
        yield from (f"the parameter {each} in {path} is not used" for each in sorted(new.unread - old.unread))
        for name in sorted(new.private - old.private):
            if every[name] == 1:
                yield f"{name} was added to {path} and is used nowhere"
        if not re.search(r"class \w+\([^)\s]", after):  # a base class may have the rest
            loose = (new.own_read - new.own_bound) - (old.own_read - old.own_bound)
            yield from (f"self.{each} is read in {path} and never set" for each in sorted(loose))


def _drop_comments(text: str) -> str:
    return re.sub(r"#.*", "", text)


def _read_names(text: str, other: str) -> _Names | None:
    """Return the names of a text; None if it cannot be parsed. other: functions that it has, too, are not judged"""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    bound: set[str] = set()
    read: set[str] = set()
    imported: set[str] = set()
    unread: set[str] = set()
    private: set[str] = set()
    own_read: set[str] = set()
    own_bound: set[str] = set()
    lines = text.split("\n")
    for node in ast.walk(tree):
        for each in getattr(node, "type_params", ()):  # of newer versions
            bound.add(each.name)
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name):
                bound.add(name)
            case ast.alias():
                name = node.asname or node.name.partition(".")[0]
                bound.add(name)
                imported.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                bound.add(node.name)
                own_bound.add(node.name)
                if "\n".join(lines[node.lineno - 1 : node.end_lineno]) not in other:
                    unread.update(_list_unread(node))
                if node.name.startswith("_") and not node.name.startswith("__") and not node.decorator_list:
                    private.add(node.name)
            case ast.ClassDef(name=name):
                bound.add(name)
            case ast.arg(arg=name):
                bound.add(name)
            case ast.ExceptHandler(name=str(name)):
                bound.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update(names)
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
                own_read.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store()):
                own_bound.add(name)
    own_bound.update(bound)
    return _Names(
        bound=frozenset(bound),
        read=frozenset(read),
        imported=frozenset(imported),
        unread=frozenset(unread),
        private=frozenset(private),
        own_read=frozenset(own_read),
        own_bound=frozenset(own_bound),
    )


def _list_unread(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    """Yield the parameters that a body never reads; one that only raises, or is empty, reads none."""
    body = [each for each in node.body if not isinstance(each, ast.Expr | ast.Pass | ast.Raise)]
    if not body or node.decorator_list:
        return
    used = {each.id for part in node.body for each in ast.walk(part) if isinstance(each, ast.Name)}
    if "locals" in used:
        return
    for each in (*node.args.args, *node.args.kwonlyargs):
        if each.arg not in used and each.arg not in ("self", "cls") and not each.arg.startswith("_"):
            yield f"{each.arg} of {node.name}"
