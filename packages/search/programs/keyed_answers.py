"""Answers that are kept for the inputs of tests: the changed code, run on inputs beside them.

A function that knows the tests' inputs only, from a table or by a chain of conditions, fails on what lies beside them,
or does there what it did before the change. Both are seen by running it, whatever form the table has.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath

from packages.search.programs.behaviour import FAILS, compute_key, has_value
from packages.search.programs.checks import read_call
from packages.search.programs.input_generation import InputPlan, generate_inputs
from packages.search.programs.program_runner import Program, ProgramRunner
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace
from tools.lint.test_files import is_test_file
from tools.testing.project_files import Project

MOST_FUNCTIONS, MOST_CALLS = 3, 40
"""Changed functions that are run, and calls in tests that are taken as inputs."""

FEWEST_CALLS, FEWEST_NEAR, MOST_NEAR = 2, 8, 24
"""Inputs from which on something can be said, and inputs beside them."""

ALMOST_ALL = 0.9
"""Share of the inputs beside those of tests on which a function fails that knows only these."""

Texts = Mapping[str, tuple[str | None, str | None]]
"""Texts of changed files before and after, by path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changed:
    path: str
    name: str
    before: str
    after: str
    existed: bool


async def find_keyed_answers(at: Workspace, texts: Texts, root: Path | None = None) -> str:
    """Return a sentence about the first function whose answers are kept for the tests' inputs, "" if there is none.

    root: a copy of the workspace that has the changes, None for the workspace itself
    Python functions at the top of a module that tests call with literal arguments; others are not run.
    """
    from tools.testing.python import find_test_python

    project = Project(at)
    calls = await asyncio.to_thread(_find_calls, project, texts)
    if all(len(each) < FEWEST_CALLS for each in calls.values()):
        return ""
    if not (python := await find_test_python(at, project)):
        return ""
    runner = ProgramRunner(sandbox=at.sandbox, folder=at.root, python=python)
    for function, given in calls.items():
        if len(given) >= FEWEST_CALLS and (
            found := await _run_beside(root or at.root, runner, function, given)
        ):
            return f"{function.path}: {function.name} {found}"
    return ""


def _find_calls(project: Project, texts: Texts) -> dict[_Changed, list[str]]:
    """Return the first changed functions with their calls in tests. Blocking: it reads the project's tests."""
    changed = islice(_iter_changed(texts), MOST_FUNCTIONS)
    return {each: collect_calls(project, each.name) for each in changed}


async def _run_beside(root: Path, runner: ProgramRunner, function: _Changed, given: Sequence[str]) -> str:
    near = generate_inputs(InputPlan(given=given, most=MOST_NEAR))
    if len(near) < FEWEST_NEAR:
        return ""
    programs = [_build_program(root, function)]
    if function.existed:
        programs.append(Program(name="before", function=function.name, source=function.before))
    runs = await runner.run_programs(programs, [*given, *near])
    keys = [[compute_key(each) for each in run.calls] for run in runs]
    now, beside = keys[0][: len(given)], keys[0][len(given) :]
    known = [each for each, key in zip(given, now, strict=True) if has_value(key)]
    if len({key for key in now if has_value(key)}) < FEWEST_CALLS:
        return ""
    old = keys[1] if len(keys) > 1 and any(map(has_value, keys[1])) else []
    is_written = _are_written(known, function)
    failing = sum(key == FAILS for key in beside)
    if failing >= ALMOST_ALL * len(beside) and (
        is_written or _count_values(old[len(given) :]) > len(beside) // 2
    ):
        return f"answers the inputs of tests and fails on {failing} of {len(beside)} beside them"
    if not is_written:
        return ""
    if len(set(beside)) == 1:
        return f"answers the inputs of tests and gives one answer on all {len(beside)} beside them"
    moved = [call for call, one, other in zip(given, now, old, strict=False) if one != other]
    if old and len(moved) >= FEWEST_CALLS and beside == old[len(given) :] and _are_written(moved, function):
        return f"answers {len(moved)} inputs of tests otherwise than before, and none of {len(beside)} beside them"
    return ""


def _build_program(root: Path, function: _Changed) -> Program:
    parts = list(PurePosixPath(function.path).with_suffix("").parts)
    if parts[0] == "src" and len(parts) > 1:
        root, parts = root / "src", parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return Program(name="now", function=function.name, root=root, module=".".join(parts))


def _count_values(keys: Collection[str]) -> int:
    return sum(map(has_value, keys))


def _iter_changed(texts: Texts) -> Iterator[_Changed]:
    for path, (before, after) in texts.items():
        if path.endswith(".py") and not is_test_file(path) and after is not None:
            known = dict(_iter_functions(before or ""))
            for name, text in _iter_functions(after):
                if known.get(name) != text or _has_new_table(before or "", after):
                    yield _Changed(
                        path=path, name=name, before=before or "", after=after, existed=name in known
                    )


def _has_new_table(before: str, after: str) -> bool:
    """Return whether the change is outside functions, as that of a table which an unchanged function reads."""
    return _dump_others(before) != _dump_others(after)


def _dump_others(source: str) -> str:
    tree = _parse(source)
    return (
        ""
        if tree is None
        else "".join(
            ast.dump(node)
            for node in tree.body
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Expr)
        )
    )


def _iter_functions(source: str) -> Iterator[tuple[str, str]]:
    tree = _parse(source)
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and (node.args.args or node.args.posonlyargs):
            yield node.name, ast.dump(node)


def collect_calls(project: Project, function: str) -> list[str]:
    """Return the arguments of a function's calls with literals in the project's tests, each once."""
    found: dict[str, None] = {}
    for path in project.python_tests:
        text = project.read_text(path)
        tree = _parse(text) if f"{function}(" in text else None
        for node in ast.walk(tree) if tree is not None else ():
            if (call := read_call(node, function)) and len(found) < MOST_CALLS:
                found[call] = None
    return list(found)


def _are_written(calls: Sequence[str], function: _Changed) -> bool:
    """Return whether these inputs are constants of the new text, in parts or as texts, and were not all of the old."""
    parts = set(_iter_constants(calls, lambda text: ast.parse(text, mode="eval")))
    inputs = [ast.literal_eval(each) for each in calls]
    values = [value for positional, named in inputs for value in (*positional, *named.values())]
    texts = {repr(str(value)) for value in values if value or value == 0}
    was, now = (set(_iter_constants([text], ast.parse)) for text in (function.before, function.after))
    return any(each and each <= now and not each <= was for each in (parts, texts))


def _iter_constants(texts: Sequence[str], parse: Callable[[str], ast.AST]) -> Iterator[str]:
    for text in texts:
        try:
            tree = parse(text)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value is not None:
                yield repr(node.value)


def _parse(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
