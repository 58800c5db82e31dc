"""Templates that lend from the file around a statement: each makes the change that it is there for, of Python alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from packages.offline.repair.templates import TEMPLATES, Hints, Site, Source

BY_NAME = {each.name: each for each in TEMPLATES}


def made(name: str, text: str, hints: Hints) -> Iterator[str]:
    """What a template makes of a program, at every statement of it."""
    source = Source("a.py", text)
    for statement in source.statements:
        for change in BY_NAME[name].changes(Site(source=source, statement=statement, hints=hints)):
            yield text[: change.start] + change.text + text[change.end :]


CASES = [
    ("joined_inside", "def f(a, b):\n    return g([a and h])\n", "a and h", "(a and not b) and h"),
    ("joined_with_call", "def g(b):\n    if b.is_open():\n        return 1\ndef f(a):\n    if a:\n        return 2\n",
     "if a:", "if a and not a.is_open():"),
    ("attribute_asked_first", "def f(a):\n    if not a.b.c:\n        return 2\n",
     "if not a.b.c", 'if hasattr(a.b, "c") and not a.b.c'),
    ("nothing_for_none", "def f(a):\n    if hasattr(a, 'b'):\n        return a.b\n", "hasattr(a, 'b')",
     "getattr(a, 'b', None)"),
    ("nothing_for_none", "def f(a, b):\n    if b in a.all:\n        return 1\n", "b in a.all", "a.all.get(b)"),
    ("early_return", "def f(a):\n    for b in a:\n        yield b\n", "    for b",
     "    if not a:\n        return\n    for b"),
    ("early_return", "def f(a):\n    if a.x:\n        return\n    g(a)\n", "    g(a)",
     "    if a is None:\n        return\n    g(a)"),
    ("early_return", "def f(a):\n    return g(a)\n", "    return", "    if a is None:\n        return 0\n    return"),
    ("branch_narrowed", "def f(a, b):\n    if a:\n        return 1\n    else:\n        return b\n", "else:",
     "elif b is not None:"),
    ("converted_before", "def f(a):\n    return g(a)\n", "    return", "    a = list(a)\n    return"),
    ("guard_of_others", "def g(a):\n    if a is b:\n        return None\ndef f(a, b):\n    return h(a)\n",
     "    return h(a)", "    if a is b:\n        return None\n    return h(a)"),
    ("guard_of_others", "def g(a):\n    if a is b:\n        raise ValueError('x from y') from a\n"
     "def f(a, b):\n    return a\n", "    return a\n",
     "    if a is b:\n        raise ValueError('x from y') from a\n    return a\n"),
    ("member_of_owner", "def f(node):\n    h(node.this)\n    return node.name\n", "return node.name",
     "return node.this"),
    ("other_chain", "def f(a):\n    h(a.b)\n    return a.c.d\n", "return a.c.d", "return a.b"),
    ("element_of", "def f(a, b):\n    for i in b:\n        h(a)\n", "h(a)", "h(a[i])"),
    ("argument_at_end", "def f(a, b, start):\n    return a.find(b)\n", "find(b)", "find(b, start)"),
    ("alone_for_display", "def f(a):\n    return (a,)\n", "(a,)", "a"),
    ("alone_for_display", "def f(a):\n    return g(a)\n", "g(a)", "g([a])"),
    ("default_given", "def f(a):\n    return a.get('x')\n", "'x'", "'x', \"\""),
    ("identity_comparison", "def f(a):\n    return a == None\n", "==", "is"),
    ("identity_comparison", "def f(a, b):\n    return a is b\n", "is", "=="),
    ("bounded", "def f(a, b):\n    return a - b\n", "a - b", "max(0, a - b)"),
    ("unwrapped", "def f(a):\n    return a.strip('x')\n", "a.strip('x')", "a"),
    ("default_value", "def f(a, b=1):\n    return a\n", "b=1", "b=None"),
    ("default_value", "def f(a, b):\n    return a\n", "b)", "b=False)"),
    ("name_of_module", "TEXT = str\ndef f(a):\n    return isinstance(a, str)\n", "a, str", "a, TEXT"),
    ("two_removed", "def f(a):\n    b()\n    c()\n    return a\n", "    b()\n    c()\n", ""),
    ("brackets_forgotten", "def f(a, b):\n    return a + b % 2\n", "a + b % 2", "(a + b) % 2"),
    ("brackets_forgotten", "def f(a, b):\n    return a - b + 1\n", "b + 1", "(b + 1)"),
    ("brackets_forgotten", "def f(a, b):\n    return a * b % 2 + 1\n", "a * b % 2 + 1", "(a * b + 1) % 2"),
    ("brackets_forgotten", "def f(a, b, c):\n    return a and b or c\n", "b or c", "(b or c)"),
    ("brackets_forgotten", "def f(a, b, c, d):\n    return a or b and c or d\n", "a or b and c or d",
     "((a or b) and c) or d"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "old", "new"), CASES)
def test_a_template_makes_the_change_that_it_is_there_for(name: str, text: str, old: str, new: str) -> None:
    head, _, tail = text.rpartition(old)
    wanted = ast.dump(ast.parse(head + new + tail))
    found = [ast.dump(ast.parse(each)) for each in made(name, text, Hints())]
    assert wanted in found


def test_texts_have_no_bounds() -> None:
    assert not list(made("bounded", "def f(text):\n    return escape(text)\n", Hints()))


def test_equal_values_are_not_taken_for_one_object() -> None:
    assert not list(made("identity_comparison", "def f(a, b):\n    return a.name == b.name\n", Hints()))


def test_a_module_is_no_value() -> None:
    text = "import os\ndef f(a):\n    return os.fspath(a)\n"
    assert not [each for each in made("unwrapped", text, Hints()) if "return os\n" in each]


def test_only_names_that_the_place_can_see_are_lent() -> None:
    text = "def g(a, own):\n    if own.x:\n        a.reset(own)\ndef f(a):\n    if a:\n        return a\n"
    for name in ("joined_with_call", "guard_of_others"):
        assert not [each for each in made(name, text, Hints()) if "own" in each.split("def f")[1]]
