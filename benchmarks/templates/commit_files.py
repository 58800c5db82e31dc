"""Programs at commits of a clone: their bytes, and their text without what does not run."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from packages.evaluation.suites.source_folder import GitHistory


def read_program(clone: str, commit: str, path: str) -> str:
    """Return a program's text at a commit, "" if it was not there."""
    return (GitHistory(Path(clone)).read_blob(commit, path) or b"").decode("utf-8", "replace")


def plain(text: str) -> str:
    """A program one statement a line, without comments, annotations and docstrings; "" when it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):  # written for another Python
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        if isinstance(node, ast.arg):
            node.annotation = None
        body = getattr(node, "body", None)
        if isinstance(body, list) and not isinstance(node, ast.Lambda):
            kept = [each for each in body if not _is_text(each)]
            node.body = kept or [ast.Pass()]  # type: ignore[attr-defined]
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_text(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
