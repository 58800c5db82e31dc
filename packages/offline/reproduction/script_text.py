"""Text of a reproduction: a Python file with one test that fails as long as the told behaviour is there."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

from packages.offline.reproduction.classification import Check, Failure
from packages.offline.reproduction.report.text_elements import parse_code

_INJECTS = ("var", "globals", "init_session", "exec", "eval", "locals")
"""Functions that need the names of the module."""

TEST = "test_reproduction"


def render_script(
    title: str,
    setup: Sequence[str],
    imports: Sequence[str],
    statements: Sequence[str],
    failure: Failure,
    *,
    lets_pass: bool = False,
) -> str:
    """Return the file: it fails in the told way, and passes when it is run after the fix.

    setup, imports: what the snippet left unsaid; statements: those of the draft, one for each step
    lets_pass: another exception than the failure's is right
    """
    hoisted, body = _split_imports([_flatten_texts(each) for each in statements])
    checks = {each.step: each for each in failure.checks}
    lines: list[str] = []
    for place, source in enumerate(body):
        if source is not None:
            lines += (
                _allow_others(source, failure.error_type)
                if lets_pass and place == failure.step and failure.kind == "exception"
                else _render_statement(source, place, checks.get(place))
            )
    checking = _render_checks(failure.checks) if failure.checks else []
    if lets_pass and checking:
        lines = _expect_either(lines, checking)
    else:
        lines += checking
    head = [*dict.fromkeys(line for each in (*setup, *imports, *hoisted) for line in [each])]
    parts = [f'"""Reproduction: {_quote_title(title)}"""', "", *head]
    if any("redirect_stdout" in line for line in lines):
        parts.insert(2, "import contextlib\nimport io")
    code = "\n".join(lines) or "pass"
    if _needs_module_names(statements):
        parts += ["", f"CODE = {_literal(code)}", "", f"\ndef {TEST}():", "    exec(CODE, globals())"]
    else:
        parts += ["", f"\ndef {TEST}():", textwrap.indent(code, "    ", lambda line: bool(line.strip()))]
    parts += ["", "", 'if __name__ == "__main__":', f"    {TEST}()", ""]
    return "\n".join(parts)


def _allow_others(source: str, error_type: str) -> list[str]:
    """Return a statement that fails by one type of exception only: the report wants another one."""
    return [
        "try:",
        textwrap.indent(source, "    "),
        "except Exception as error:",
        f"    if type(error).__name__ == {error_type!r}:",
        "        raise",
    ]


def _expect_either(lines: Sequence[str], checking: Sequence[str]) -> list[str]:
    """Return statements whose exception is right as well as another result: the report asks for one."""
    body = textwrap.indent("\n".join(lines), "    ")
    rest = textwrap.indent("\n".join(checking), "    ")
    return ["try:", body, "except Exception:", "    pass", "else:", rest]


def _flatten_texts(source: str) -> str:
    """Return a statement with its texts in one line each: the test's indentation must not become a part of them."""
    tree = parse_code(source)
    spans = any(
        isinstance(each, (ast.Constant, ast.JoinedStr)) and (each.end_lineno or 0) > each.lineno
        for each in (ast.walk(tree) if tree else ())
    )
    return ast.unparse(tree) if tree is not None and spans else source


def _render_statement(source: str, place: int, check: Check | None) -> list[str]:
    if check is None:
        return [source]
    if check.way == "stdout":
        return [
            f"printed_{place} = io.StringIO()",
            f"with contextlib.redirect_stdout(printed_{place}):",
            textwrap.indent(source, "    "),
        ]
    tree = parse_code(source)
    if tree is None or not isinstance(tree.body[-1], ast.Expr):
        return [source]
    before = [ast.unparse(each) for each in tree.body[:-1]]
    return [*before, f"result_{place} = {ast.unparse(tree.body[-1].value)}", f"_ = result_{place}"]


def _render_checks(checks: Sequence[Check]) -> list[str]:
    """Return statements that fail while every told wrong result is seen."""
    shows = {
        "repr": "repr(result_{})", "str": "str(result_{})", "stdout": "printed_{}.getvalue()",
        "pretty": "pretty(result_{})", "latex": "latex(result_{})",
    }  # fmt: skip
    lines: list[str] = []
    if any(each.way in ("pretty", "latex") for each in checks):
        lines.append("from sympy import latex, pretty")
    wanted = [f"assert result_{each.step} == {each.wanted}" for each in checks if each.wanted]
    if wanted:
        return wanted
    seen = [shows[each.way].format(each.step) for each in checks]
    told = [repr(each.text) for each in checks]
    if len(checks) == 1:
        return [*lines, f"assert {seen[0]} != {told[0]}"]
    return [
        *lines,
        "seen = [\n" + "".join(f"    {each},\n" for each in seen) + "]",
        "wrong = [\n" + "".join(f"    {each},\n" for each in told) + "]",
        "assert seen != wrong",
    ]


def _split_imports(statements: Sequence[str]) -> tuple[list[str], list[str | None]]:
    """Return the star imports, which have to stand at the top, and the rest with None in their place."""
    hoisted: list[str] = []
    body: list[str | None] = []
    for source in statements:
        tree = parse_code(source)
        star = tree is not None and all(isinstance(each, (ast.Import, ast.ImportFrom)) for each in tree.body)
        if star:
            hoisted.append(source)
        body.append(None if star else source)
    return hoisted, body


def _needs_module_names(statements: Sequence[str]) -> bool:
    trees = [tree for each in statements if (tree := parse_code(each)) is not None]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    if any(isinstance(node, ast.Global) for node in nodes):
        return True
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    if any(isinstance(each, ast.Name) and each.id in _INJECTS for each in calls):
        return True
    # a class or function of the snippet that is looked up by its name (a model, a pickle)
    return any(isinstance(node, ast.ClassDef) for node in nodes)


def _literal(code: str) -> str:
    quoted = code.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\\\n{quoted}\n"""'


def _quote_title(title: str) -> str:
    return " ".join(title.split()).replace("\\", "/").replace('"', "'")[:100]
