"""The page of attacks names tests that are there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.support.cli import CHECKOUT

pytestmark = pytest.mark.slow


PAGE = CHECKOUT / "docs/attacks.md"
_NAMED = re.compile(r"`(tests/[^`]+\.py)::(\w+)`")


def test_every_test_that_the_page_names_is_there_and_every_row_names_one() -> None:
    text = PAGE.read_text("utf-8")
    rows = [
        line for line in text.splitlines() if line.startswith("|") and not line.startswith(("|---", "| what"))
    ]
    assert rows
    assert [row for row in rows if not _NAMED.search(row)] == []
    missing = [f"{file}::{name}" for file, name in _NAMED.findall(text) if name not in _tests(file)]
    assert missing == []


def _tests(file: str) -> set[str]:
    """The names of the tests in a file."""
    path = CHECKOUT / file
    tree = ast.parse(path.read_text("utf-8")) if path.is_file() else ast.Module(body=[], type_ignores=[])
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, kinds) and node.name.startswith("test_")}
