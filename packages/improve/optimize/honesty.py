"""Signs that a candidate is quick by deceit: judged on its parse, before anything of it runs.

The kernel enforces the rest: a candidate runs where it can write nothing that another run reads (`measurement.py`), and
what it answers is compared with the original on inputs that it has not seen (`equivalence.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from packages.improve.rewrites.rewrite_scope import PURE_METHODS, RewriteScope, iter_scopes
from packages.offline.repair.templates.support.source_tree import Source

MODULES = frozenset(
    ("array", "bisect", "collections", "functools", "heapq", "itertools", "math", "operator", "re", "string")
)
"""Modules that quicker code may import: they compute, and reach nothing outside the process."""

REACHING = {
    **dict.fromkeys(
        ("time", "sleep", "perf_counter", "process_time", "monotonic", "timeit", "datetime"), "the clock"
    ),
    **dict.fromkeys(("open", "os", "pathlib", "shutil", "tempfile", "io", "shelve", "sqlite3"), "files"),
    **dict.fromkeys(("exit", "_exit", "quit", "SystemExit", "KeyboardInterrupt", "abort"), "the end of the process"),
    **dict.fromkeys(("print", "input", "stdout", "stderr", "displayhook"), "the output that is measured"),
    **dict.fromkeys(
        ("exec", "eval", "compile", "re.compile", "__import__", "importlib", "globals", "locals", "vars", "setattr",
         "delattr", "builtins", "__builtins__", "__globals__", "__dict__", "__code__", "__closure__", "modules", "sys",
         "gc", "inspect", "_getframe", "f_back", "f_locals", "currentframe", "ctypes", "f_globals", "f_builtins",
         "tb_frame", "gi_frame", "__traceback__", "__class__", "__base__", "__bases__", "__mro__", "__subclasses__",
         "__getattribute__", "getattr", "attrgetter", "methodcaller", "Formatter", "get_field"),
        "other code of the process",
    ),
    **dict.fromkeys(
        ("__annotations__", "__defaults__", "__kwdefaults__", "__wrapped__", "__doc__"), "what a function keeps"
    ),
    **dict.fromkeys(
        ("atexit", "signal", "threading", "multiprocessing", "subprocess", "asyncio", "concurrent", "socket", "Thread"),
        "work outside the measured time",
    ),
    **dict.fromkeys(
        ("environ", "argv", "getenv", "__file__", "__name__", "__spec__", "__path__", "__package__", "__loader__",
         "__module__"),
        "where it runs",
    ),
}  # fmt: skip
"""Names that a candidate may use only where its function did before, and what they reach."""

PATTERN_METHODS = frozenset(
    ("match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "pattern", "flags")
)
"""Methods of a compiled pattern."""

MOST_ELEMENTS = 24
"""Constants that a new display may have more than before: beyond it is a table of answers."""

SHORTEST_TEXT, SMALLEST_NUMBER = 4, 1_000
"""Constants from which on one that is an argument of the metric's calls is no accident."""


def find_deceit(before: str, after: str, functions: Sequence[str], calls: Sequence[str] = ()) -> str:
    """Return why a candidate is refused, "" for no sign.

    functions: qualified names that it may change; calls: arguments that the metric was seen to call them with
    """
    try:
        old, new = Source("", before), Source("", after)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return "it does not parse"
    return next(_iter_signs(old, new, functions, calls), "")


def _iter_signs(old: Source, new: Source, functions: Sequence[str], calls: Sequence[str]) -> Iterator[str]:
    was = {scope.name: scope for scope in iter_scopes(old)}
    now = {scope.name: scope for scope in iter_scopes(new)}
    if list(was) != list(now):
        yield "it adds or removes functions"
        return
    changed = [name for name in was if ast.dump(was[name].function) != ast.dump(now[name].function)]
    if foreign := [name for name in changed if name not in functions]:
        yield f"it changes {foreign[0]}, which is not the target"
    yield from _check_outside(old, new)
    for name in changed:
        yield from _check_function(was[name], now[name])
        yield from _check_shared_objects(was[name], now[name])
        yield from _check_constants(was[name], now[name], calls)


def _check_outside(old: Source, new: Source) -> Iterator[str]:
    """Compare what stands outside functions: only modules that compute, and patterns, may be added."""
    kept = [_dump_shell(node) for node in old.tree.body]
    for node in new.tree.body:
        if (text := _dump_shell(node)) in kept:
            kept.remove(text)
            continue
        match node:
            case ast.Import(names=names) if all(each.name in MODULES and not each.asname for each in names):
                continue
            case ast.ImportFrom(module=module, level=0) if module in MODULES:
                continue
            case ast.Assign(
                targets=[ast.Name()],
                value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id="re"), attr="compile"),
                    args=[ast.Constant(), *flags],
                    keywords=[],
                ),
            ) if all(isinstance(each, ast.Attribute) for each in flags):
                continue
            case ast.Import() | ast.ImportFrom():
                yield f"it imports {ast.unparse(node).split()[1]}"
            case _:
                yield "it changes code outside the function: state that stays from one call to the next"
    if kept:
        yield "it removes code outside the function"


def _dump_shell(node: ast.stmt) -> str:
    """Return a statement as text, without the bodies of functions, which are compared apart."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.ClassDef):
        inside = "\n".join(map(_dump_shell, node.body))
        return f"{node.name}\n{inside}\n{[ast.dump(each) for each in (*node.bases, *node.decorator_list)]}"
    return ast.dump(node)


def _check_function(was: RewriteScope, now: RewriteScope) -> Iterator[str]:
    if ast.dump(was.function.args) != ast.dump(now.function.args):
        yield "it changes the parameters: a default could keep answers from one call to the next"
    known = _list_words(was.function) | ({"re.compile"} if now.is_module("re") else set())
    for word in sorted(_list_words(now.function) - known):
        if word in REACHING:
            yield f"it reaches {REACHING[word]}: {word}"
    old_marks = {ast.dump(each) for each in was.function.decorator_list}
    for mark in now.function.decorator_list:
        is_recursive = sum(isinstance(n, ast.Name) and n.id == now.function.name for n in now.nodes) > 1
        is_cache = ast.unparse(mark).startswith(("functools.lru_cache", "functools.cache"))
        if ast.dump(mark) not in old_marks and not (is_cache and is_recursive):
            yield "it keeps answers from one call to the next, by which only the repeated calls of a metric gain"
    before = {n.attr for n in was.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    kinds = {type(n) for n in was.nodes}
    for node in now.nodes:
        if isinstance(node, ast.Global | ast.Nonlocal) and type(node) not in kinds:
            yield "it keeps answers from one call to the next, outside the function"
        is_stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if isinstance(node, ast.Attribute) and is_stored and node.attr not in before:
            yield f"it changes an object that others see: {ast.unparse(node)}"


def _check_shared_objects(was: RewriteScope, now: RewriteScope) -> Iterator[str]:
    """Find a change of an object of the module, such as a container in which answers could be kept."""
    parents = now.source.parents
    known = {_dump_change(n, was.source.parents) for n in was.nodes if isinstance(n, ast.Name)}
    for node in now.nodes:
        if not isinstance(node, ast.Name) or node.id in now.bound_names or now.is_module(node.id):
            continue
        change = _dump_change(node, parents)
        if change and change not in known:
            yield f"it changes {node.id}, which stays from one call to the next"


def _dump_change(node: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> str:
    """Return the change that is made at this place to the object that is named, "" for none."""
    match above := parents.get(node):
        case ast.Subscript(value=value, ctx=ast.Store() | ast.Del()) if value is node:
            return f"{node.id}[]"
        case ast.Attribute(value=value, attr=attribute) if value is node:
            is_known = attribute in PURE_METHODS | PATTERN_METHODS
            is_called = isinstance(call := parents.get(above), ast.Call) and call.func is above
            is_change = not is_known and (is_called or isinstance(above.ctx, ast.Load))
            return f"{node.id}.{attribute}" if is_change else ""
    return ""


def _check_constants(was: RewriteScope, now: RewriteScope, calls: Sequence[str]) -> Iterator[str]:
    nodes = (ast.walk(each.function) for each in (was, now))
    old, new = ([n.value for n in each if isinstance(n, ast.Constant)] for each in nodes)
    if len(new) > len(old) + MOST_ELEMENTS:
        yield "it holds a table of constants"
    seen = {repr(value) for value in _iter_telling_constants(calls)}
    if written := [each for each in new if repr(each) in seen and each not in old]:
        yield f"it knows an input of the metric: {str(written[0])[:40]!r}"


def _iter_telling_constants(calls: Sequence[str]) -> Iterator[object]:
    for text in calls:
        for node in ast.walk(ast.parse(text, mode="eval")):
            match node:
                case ast.Constant(value=str() | bytes() as value) if len(value) >= SHORTEST_TEXT:
                    yield value
                case ast.Constant(value=int() | float() as value) if abs(value) >= SMALLEST_NUMBER:
                    yield value


def _list_words(node: ast.AST) -> set[str]:
    """Return the names, attributes and modules that occur in a node."""
    found: set[str] = set()
    for each in ast.walk(node):
        match each:
            case ast.Attribute(value=ast.Name(id="re"), attr="compile"):
                found.add("re.compile")
            case ast.Name(id=word) | ast.Attribute(attr=word):
                found.add(word)
            case ast.MatchClass(kwd_attrs=words):
                found.update(words)
            case ast.Import(names=names):
                found.update(part for name in names for part in name.name.split("."))
            case ast.ImportFrom(module=module, names=names):
                found.update((module or "").split("."))
                found.update(name.name for name in names)
    return found
