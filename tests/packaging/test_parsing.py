"""Data that others wrote is parsed in one way: too deep a nesting is a wrong value like any other, and no traceback."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from sandbox.parsed_data import parse_json, parse_toml

ROOT = Path(__file__).parents[2]
FOLDERS = ("agent", "cli", "tools", "sandbox", "packages")
ALONE = ("patchwright_worker", "program_worker.py")
"""Workers without imports of ours."""


def list_caught(handler: ast.ExceptHandler) -> set[str]:
    found = [handler.type] if not isinstance(handler.type, ast.Tuple) else handler.type.elts
    return {ast.unparse(each).rpartition(".")[2] if each else "Exception" for each in found}


def list_loads(tree: ast.AST) -> list[int]:
    """Return the lines of calls of which some errors are caught, and not all: a long number is a ValueError alone."""
    lines = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not node.handlers:
            continue
        caught = set().union(*map(list_caught, node.handlers))
        narrow = caught & {"JSONDecodeError", "TOMLDecodeError"} and "ValueError" not in caught
        if narrow or (
            caught & {"ValueError"}
            and not caught
            & {
                "RecursionError",
                "Exception",
            }
        ):
            calls = [each for inner in node.body for each in ast.walk(inner) if isinstance(each, ast.Call)]
            lines += [
                each.lineno for each in calls if ast.unparse(each.func) in ("json.loads", "tomllib.loads")
            ]
    return lines


def test_no_module_forgets_that_nesting_may_be_too_deep() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not any(each in path.parts for each in ALONE)
        for line in list_loads(ast.parse(path.read_text("utf-8")))
    ]
    assert found == [], "use sandbox.parsed_data"


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 5_000 + "1" + "}" * 5_000, '{"a": ' + "9" * 5_000 + "}"]
)
def test_json_of_any_depth_is_a_wrong_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"deep|digits|value"):
        parse_json(text)


@pytest.mark.parametrize(
    "text", [".".join("a" * 5_000) + " = 1", "x = " + "9" * 5_000, "x = " + "[" * 300 + "]" * 300]
)
def test_odd_toml_is_a_wrong_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"deep|digits"):
        parse_toml(text)


def test_toml_of_any_depth_is_a_wrong_value() -> None:
    with pytest.raises(ValueError, match="deep"):
        parse_toml("x = " + "[" * 20_000)
