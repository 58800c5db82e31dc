"""Checks of what a prompt wants done to a name of the code: renamed, documented, typed, deprecated, tested.

In plain words a name is any word: it counts where the code defines it, before the turn or after. Where it never did,
the requirement is not checked.
"""

from __future__ import annotations

import ast
import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import islice

from agent.verify.requirement import Kind, Requirement, Result
from packages.search.requirements.definition_text import read_definition, read_signatures
from packages.search.requirements.static_checks import met, query_definitions, split_place, unmet
from packages.search.requirements.turn_changes import TurnChanges
from packages.search.requirements.wording import ARROW
from sandbox.errors import UserError
from sandbox.lazy_pattern import compile_lazily
from tools.code.code_tool import query_index
from tools.core.workspace import Workspace

_DEPRECATES = compile_lazily(
    r"DeprecationWarning|@(?:\w+\.)?deprecated\b|@Deprecated\b|#\[deprecated|\bdeprecat", re.I
)


def check_renamed(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """The new name is defined, the old one neither defined nor used where the turn found it. Raises UserError."""
    old, _, new = check.partition(ARROW)
    before, after = _count_definitions(old, changes)
    if not before:
        return Result(detail=f"{old} was not defined in what was changed")
    if not query_definitions(new, at):
        return unmet(f"{new} is not defined")
    if after >= before:
        return unmet(f"{old} is still defined")
    if query_definitions(old, at):  # another one of that name, whose uses cannot be told apart
        return met(f"{new} is defined")
    uses = query_index(at, lambda index: list(islice(_find_uses(index, old), 3)))
    return unmet(f"{old} is still used: {', '.join(uses)}") if uses else met(f"{new} is defined")


def _find_uses(index: object, name: str) -> list[str]:
    from tools.code.index.symbol_queries import find_references

    return [f"{each.path}:{each.line}" for each in find_references(index, name)]  # type: ignore[arg-type]


def _count_definitions(name: str, changes: TurnChanges) -> tuple[int, int]:
    paths = changes.list_changed_files()
    return (
        sum(len(read_definition(each, changes.read_before(each), name)) for each in paths),
        sum(len(read_definition(each, changes.read_after(each), name)) for each in paths),
    )


def check_documented(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """Each definition of the name in a Python file has a docstring."""
    return _judge_nodes(check, changes, lambda node: ast.get_docstring(node) is not None, "has no docstring")


def check_typed(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """Each parameter of the function has a type, and its result."""
    return _judge_nodes(check, changes, _is_typed, "is not wholly typed")


def _is_typed(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    if isinstance(node, ast.ClassDef):
        return True
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    named += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return node.returns is not None and all(
        each.annotation is not None or each.arg in ("self", "cls") for each in named
    )


def _judge_nodes(
    check: str,
    changes: TurnChanges,
    holds: Callable[[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef], bool],
    fault: str,
) -> Result:
    _, name = split_place(check)
    found = []
    for path in changes.list_changed_files():
        text = changes.read_after(path) if path.endswith(".py") else None
        if text is None or name.rpartition(".")[2] not in text:
            continue
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except (SyntaxError, ValueError, RecursionError):
            continue
        found += [
            (f"{path}:{node.lineno}", holds(node))
            for node in nodes
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and node.name == name.rpartition(".")[2]
        ]
    if not found:
        return Result(detail=f"{name} is not defined in what was changed")
    if any(held for _, held in found):
        return met()
    return unmet(f"{name} {fault}: {found[0][0]}")


def check_deprecated(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """The source of the name, or a line that names it, speaks of deprecation."""
    _, name = split_place(check)
    was_there = False
    for path in changes.list_changed_files():
        text = changes.read_after(path) or ""
        sources = read_definition(path, text, name)
        was_there |= bool(sources)
        around = [line for line in text.splitlines() if name in line]
        if any(_DEPRECATES.search(each) for each in [*sources, *around]):
            return met(path)
        for source in sources:
            above = text.partition(source)[0].splitlines()[-4:]
            if any(_DEPRECATES.search(line) for line in above):
                return met(path)
    return unmet(f"nothing deprecates {name}") if was_there else Result(detail=f"{name} was not changed")


def check_code_changed(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """Something else than comments, docstrings and layout is changed. A file of no known language counts as changed."""
    from packages.search.requirements.change.code_content import is_beside_code, reduce_code

    paths = changes.list_changed_files()
    code = [each for each in paths if not is_beside_code(each)]
    if not code:  # where a document is mended, this is right
        return Result(detail="only documents were changed" if paths else "nothing was changed")
    if any(
        reduce_code(path, changes.read_before(path)) != reduce_code(path, changes.read_after(path))
        for path in code
    ):
        return met()
    return unmet("only comments, docstrings or layout were changed")


def check_tested(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """A test was added; of a name that the code defines, in a file that uses it. Raises UserError."""
    from tools.lint.honesty.file_changes import find_role

    _, name = split_place(check)
    last = name.rpartition(".")[2]
    changed = changes.list_changed_files()
    in_tests = [path for path in changed if find_role(path) in ("test", "expected")]
    added = [
        path
        for path in changed
        if _count_tests(changes.read_after(path)) > _count_tests(changes.read_before(path) or "")
    ]
    if not added:  # a row of a table of cases is one, too
        return met(in_tests[0]) if in_tests else unmet("no test was added")
    if not name or not query_definitions(name, at):
        return met(added[0])
    near = dict.fromkeys((*added, *in_tests))
    using = [path for path in near if re.search(rf"\b{re.escape(last)}\b", changes.read_after(path) or "")]
    return met(using[0]) if using else unmet(f"no added test uses {name}")


_TEST = compile_lazily(
    r"^[^\S\n]*(?:async\s+)?(?:def|func|fn|fun|void|public void)\s+\w*[tT]est\w*\s*\("
    r"|^[^\S\n]*#\[(?:\w+::)?test\b|^[^\S\n]*@(?:Parameterized)?Test\b|^[^\S\n]*@test\b"
    r"|^[^\S\n]*(?:it|test|describe|specify|scenario|context)(?:\.\w+)?\s*[(\"' ]"
    r"|^[^\S\n]*(?:TEST|TEST_F|TEST_P|TEST_CASE)\s*\(|^[^\S\n]*>>> |pytest\.mark\.parametrize|pytest\.param\("
    r"|^[^\S\n]*assert\b|\bassert\w*\(|\bexpect\(",
    re.MULTILINE,
)


def _count_tests(text: str | None) -> int:
    """Return how many tests, cases and assertions a text has, roughly and in any language."""
    return len(_TEST.findall(text or ""))


def check_parameter(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """A definition of the name has the parameter; one that is named after it counts ("logging" for `log`)."""
    name, _, wanted = check.rstrip(")").partition("(")
    found = []
    for path in changes.list_changed_files():
        for signature in read_signatures(path, changes.read_after(path), name):
            words = re.findall(r"[A-Za-z_]\w*", signature.partition("(")[2])
            found.append(path)
            if any(_is_named_after(each, wanted) for each in words):
                return met(path)
    return (
        unmet(f"{name} has no parameter {wanted}: {found[0]}")
        if found
        else Result(detail=f"{name} was not changed")
    )


def _is_named_after(one: str, two: str) -> bool:
    short, long = sorted((one.lower().strip("_"), two.lower().strip("_")), key=len)
    return len(short) >= 3 and short in long


def check_mentioned(check: str, changes: TurnChanges, at: Workspace) -> Result:
    """A line that was added has the text, as a word of its own."""
    is_version = check[:1].isdigit()  # 1.0 is v1.0 and 1.0.0, and not 1.0.2
    ends = (r"(?<![\w.])v?", r"(?!\w|\.[1-9])") if is_version else (r"(?<!\w)", r"(?!\w)")
    pattern = re.compile(f"{ends[0]}{re.escape(check)}{ends[1]}", re.IGNORECASE)
    is_pinned = False
    for path in changes.list_changed_files():
        before = set((changes.read_before(path) or "").splitlines())
        added = [line for line in (changes.read_after(path) or "").splitlines() if line not in before]
        if pattern.search(path) or any(map(pattern.search, added)):
            return met(path)
        is_pinned |= is_version and any(map(_PIN.search, added))
    if is_pinned:
        return Result(detail="a version is pinned by its hash")
    return unmet(f"no added line has {check}")


_PIN = compile_lazily(r"\b[0-9a-f]{40,64}\b")
"""Hash by which a version is pinned, so that its number need not be there."""


_CHECKS: Mapping[Kind, Callable[[str, TurnChanges, Workspace], Result]] = {
    "parameter": check_parameter,
    "mentioned": check_mentioned,
    "renamed": check_renamed,
    "documented": check_documented,
    "typed": check_typed,
    "deprecated": check_deprecated,
    "tested": check_tested,
    "code-changed": check_code_changed,
}


async def check_symbols(each: Requirement, changes: TurnChanges, at: Workspace) -> Result | None:
    """Return the result of a requirement; None for a kind that is not checked here."""
    if (check := _CHECKS.get(each.kind)) is None:
        return None
    try:
        return await asyncio.to_thread(check, each.check, changes, at)
    except UserError as problem:
        return Result(detail=f"the code index cannot be asked: {problem.message}")
