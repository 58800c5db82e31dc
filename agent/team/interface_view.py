"""Reading without the code: the interfaces of source files, and tests and documents as they are.

For an agent that writes tests from the requirement. It has no other tool that shows a file.
"""

from __future__ import annotations

import ast
import asyncio
import io
from pathlib import PurePath

from tools.core.action import Observation, ToolFailure
from tools.core.path_resolution import resolve_existing_file
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.fs.line_range import read_line_range

DOCUMENTS = frozenset(
    [
        ".md",
        ".rst",
        ".txt",
        ".adoc",
        ".toml",
        ".cfg",
        ".ini",
        ".json",
        ".yaml",
        ".yml",
        ".csv",
        ".tsv",
        ".xml",
    ]
)
"""Endings of files that hold no code."""


@tool(effect="read")
async def read(path: str, start: int = 1, end: int | None = None, *, at: Workspace) -> Observation:
    """Read a test or a document with line numbers; of source code, the interface: signatures and docstrings."""
    return await asyncio.to_thread(_read_interface, at, path, start, end)


@tool(effect="execute")
async def run_tests(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Run the project's tests; you see which fail, and their message.

    targets: test ids or paths; empty for all
    """
    from tools.testing import run

    report = await run(at, targets)
    lines = [f"{report.outcome}: {report.passed} passed, {report.failed} failed, {report.errors} errors"]
    lines += [f"{each.id}: {each.message.partition(chr(10))[0]}" for each in report.failures[:40]]
    failed = report.outcome in ("broken", "no-tests", "timeout", "no-runner")
    return Observation(text="\n".join(lines), data={"outcome": report.outcome}, failed=failed)


def _read_interface(at: Workspace, path: str, start: int, end: int | None) -> Observation:
    from tools.edit.loaded_file import load_text_file
    from tools.lint.test_files import is_test_file

    relative = at.files.resolve_relative(
        resolve_existing_file(at, "read", path)
    )  # a link counts as its target
    text = load_text_file(at, "read", relative).text
    if PurePath(relative).suffix.lower() in DOCUMENTS or is_test_file(relative):
        part = read_line_range(io.BytesIO(text.encode("utf-8", "replace")), start, end, tool="read")
        return Observation(text=f"{relative}: {part.describe_extent()}\n{part.text}", data={"path": relative})
    shown = outline_python(text) if relative.endswith((".py", ".pyi")) else _outline_by_index(at, relative)
    return Observation(text=f"{relative}: its interface\n{shown}", data={"path": relative, "interface": True})


def _outline_by_index(at: Workspace, path: str) -> str:
    from sandbox.errors import UserError
    from tools.code.code_tool import query_index
    from tools.code.index.query_answers import answer_query

    try:
        return query_index(at, lambda index: answer_query(index, "outline", path)).text
    except UserError:
        raise ToolFailure(
            f"read: of {path} no interface can be shown, and its code is not yours to see"
        ) from None


def outline_python(text: str) -> str:
    """Return a module's signatures, docstrings and constants; its bodies are `...`."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        raise ToolFailure("read: the file is no Python, so its interface is not known") from None
    return (
        ast.unparse(ast.fix_missing_locations(ast.Module(body=_outline(tree), type_ignores=[]))) or "(empty)"
    )


def _outline(node: ast.Module | ast.ClassDef) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    if docstring := ast.get_docstring(node):
        found.append(ast.Expr(ast.Constant(docstring)))
    for each in node.body:
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                known = ast.get_docstring(each)
                each.body = [ast.Expr(ast.Constant(known if known else ...))]
                found.append(each)
            case ast.ClassDef():
                each.body = _outline(each) or [ast.Expr(ast.Constant(...))]
                found.append(each)
            case ast.AnnAssign(simple=1):
                each.value = each.value if isinstance(each.value, ast.Constant) else None
                found.append(each)
            case ast.Assign(value=ast.Constant()) | ast.Import() | ast.ImportFrom():
                found.append(each)
    return found
