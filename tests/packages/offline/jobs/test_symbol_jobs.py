"""Names and parameters, changed by the tokens of the code."""

from __future__ import annotations

import ast
import textwrap

import pytest

from packages.offline.jobs.desk import NotDone
from packages.offline.jobs.function_jobs import insert_docstring
from packages.offline.jobs.symbol_jobs import add_argument, replace_name


@pytest.mark.parametrize(
    ("source", "head"),
    [
        ("def f():\n    pass", "def f(flag=1):"),
        ("def f(a):\n    pass", "def f(a, flag=1):"),
        ("def f(a, *, b=2):\n    pass", "def f(a, *, b=2, flag=1):"),
        ("def f(a, *rest):\n    pass", "def f(a, *rest, flag=1):"),
        ("def f(a, **more):\n    pass", "def f(a, flag=1, **more):"),
        ("@wrap(1)\ndef f(a=(1, 2), b={**x}):\n    pass", "@wrap(1)\ndef f(a=(1, 2), b={**x}, flag=1):"),
        ("def f(a: int) -> str:\n    return ''", "def f(a: int, flag: int = 1) -> str:"),
        ("    def f(self):\n        pass", "    def f(self, flag=1):"),
        ("def f(\n    a,\n    b,\n):\n    pass", "def f(\n    a,\n    b,\n    flag=1,\n):"),
        ("def f(\n    a,\n    b  # it\n):\n    pass", "def f(\n    a,\n    b,  # it\n    flag=1\n):"),
        ("def f(\n    a,  # it\n):\n    pass", "def f(\n    a,  # it\n    flag=1,\n):"),
        ("def f(  # none\n):\n    pass", "def f(flag=1  # none\n):"),
        ("# \x0c\ndef f(a):\n    pass", "# \x0c\ndef f(a, flag=1):"),
    ],
)
def test_an_argument_is_added_where_no_call_changes(source: str, head: str) -> None:
    new = add_argument(source, "flag", "1")
    assert new.startswith(head)
    [node] = ast.parse(textwrap.dedent(new)).body
    assert isinstance(node, ast.FunctionDef)
    assert "flag" in {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}


def test_a_name_is_replaced_in_code_alone() -> None:
    text = "from m import add\n\n# add\nx = add(1) + o.add\ny = 'add'\n"
    assert replace_name(text, "add", "plus") == (
        "from m import plus\n\n# add\nx = plus(1) + o.plus\ny = 'add'\n",
        3,
    )


def test_a_name_behind_a_form_feed_is_replaced_in_its_own_line() -> None:
    assert (
        replace_name("x = 1\n\x0c\nlonger = y.add(2)\n", "add", "plus")[0]
        == "x = 1\n\x0c\nlonger = y.plus(2)\n"
    )


@pytest.mark.parametrize("text", ["def f(add): return add\n", "add = 3\n", "f(add=2)\n", "def broken(:\n"])
def test_a_name_of_two_things_is_not_replaced(text: str) -> None:
    with pytest.raises(NotDone):
        replace_name(text, "add", "plus")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n    return 1", 'def f():\n    """One."""\n    return 1'),
        ('def f():\n    """Old\n    text."""\n    return 1', 'def f():\n    """One."""\n    return 1'),
        (
            "    @wrap\n    def f(\n        a,\n    ):\n        return 1",
            '    @wrap\n    def f(\n        a,\n    ):\n        """One."""\n        return 1',
        ),
        (
            "def f():\n    x = '\x0c'\n    return x",
            'def f():\n    """One."""\n    x = \'\x0c\'\n    return x',
        ),
    ],
)
def test_a_docstring_is_inserted(source: str, expected: str) -> None:
    assert insert_docstring(source, "One.") == expected
