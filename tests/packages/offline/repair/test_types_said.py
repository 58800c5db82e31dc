"""Templates that live on what Python says of types and of names that are gone: the fix is among the candidates."""

from __future__ import annotations

import pytest

from packages.offline.repair.localize.coverage_spectrum import Test
from packages.offline.repair.localize.failure_analysis import extract_hints
from packages.offline.repair.templates import Hints
from tests.packages.offline.repair.engine.candidates.test_candidate_generation import results
from tests.packages.offline.repair.test_lending import made


def said(error: str, message: str) -> Hints:
    return extract_hints(
        [Test(index=0, id="t.py::t", file="t.py", standing="failed", error=error, message=message)]
    )


def clash(message: str) -> Hints:
    return said("TypeError", message)


def lacks(kind: str, name: str) -> Hints:
    return said("AttributeError", f"'{kind}' object has no attribute '{name}'")


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("return 'a' + b", "return 'a' + str(b)", clash('can only concatenate str (not "int") to str')),
        ("return b + 'a'", "return str(b) + 'a'", clash("unsupported operand type(s) for +: 'int' and 'str'")),
        ("b += a.c", 'b += a.c or ""', clash('can only concatenate str (not "NoneType") to str')),
        ("return a + b", "return a + list(b)", clash('can only concatenate list (not "tuple") to list')),
        ("return a.write(b)", "return a.write(b.encode())", clash("a bytes-like object is required, not 'str'")),
        ("return a + b.c", "return a + b.c.decode()", clash('can only concatenate str (not "bytes") to str')),
        ("for c in a.b: print(c)", "for c in a.b or (): print(c)", clash("'NoneType' object is not iterable")),
        ("return b in a", "return b in (a or ())", clash("argument of type 'NoneType' is not iterable")),
        ("return list(a)", "return list([a])", clash("'int' object is not iterable")),
        ("return len(a)", "return len(list(a))", clash("object of type 'generator' has no len()")),
        ("return a.keys()[0]", "return list(a.keys())[0]", clash("'dict_keys' object is not subscriptable")),
        ("return range(a / b)", "return range(int(a / b))",
         clash("'float' object cannot be interpreted as an integer")),
        ("return a[b]", "return a[int(b)]", clash("list indices must be integers or slices, not str")),
        ("return {b: a}[b.c]", "return {b: a}[tuple(b.c)]", clash("unhashable type: 'list'")),
        ("return 'x %s' % b", "return 'x %s' % (b,)", clash("not all arguments converted during string formatting")),
        ("return ','.join(a)", "return ','.join(map(str, a))",
         clash("sequence item 0: expected str instance, int found")),
        ("return match(a, b)", "return match(a, str(b))", clash("expected string or bytes-like object, got 'int'")),
        ("if a < b: return 1", "if b is not None and a < b: return 1",
         clash("'<' not supported between instances of 'int' and 'NoneType'")),
        ("return a - b", "return a - (b or 0)", clash("unsupported operand type(s) for -: 'int' and 'NoneType'")),
        ("if a.startswith('x'): return 1", "if isinstance(a, str) and a.startswith('x'): return 1",
         lacks("int", "startswith")),
        ("return a.decode('utf-8')", "return a", lacks("str", "decode")),
    ],
)  # fmt: skip
def test_a_value_of_the_type_that_is_said_is_converted_or_asked(before: str, after: str, told: Hints) -> None:
    assert f"def f(a, b):\n    {after}\n" in results(f"def f(a, b):\n    {before}\n", told)


@pytest.mark.parametrize(
    "before", ["return ','.join(a)", "return 'x %s' % b", "return {b: a}[b.c]", "return a - b.c"]
)
@pytest.mark.parametrize("name", ["converted_as_said", "none_kept_out"])
def test_nothing_is_converted_where_no_type_is_said(before: str, name: str) -> None:
    assert not list(made(name, f"def f(a, b):\n    {before}\n", Hints(errors=frozenset({"TypeError"}))))


def test_emptiness_is_not_asked_of_a_value_of_another_type() -> None:
    """That the key was 0 was luck: what has no `startswith` is a number, and `1` is none of the text's either."""
    text = "def f(key):\n    if key.startswith('x'):\n        return 1\n"
    guarded = "def f(key):\n    if key and key.startswith('x'):\n        return 1\n"
    assert guarded in results(text, lacks("NoneType", "startswith"))
    assert guarded not in results(text, lacks("int", "startswith"))
