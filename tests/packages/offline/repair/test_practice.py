"""Templates for what goes wrong in libraries, and for what stands in strings: the fix is among the candidates."""

from __future__ import annotations

import ast
import warnings

import pytest

from packages.offline.repair.localize.coverage_spectrum import Test
from packages.offline.repair.localize.failure_analysis import extract_hints
from packages.offline.repair.templates import Hints
from tests.packages.offline.repair.engine.candidates.test_candidate_generation import results

NONE = Hints()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # guarded, slice_bound
        ("def f(a, b):\n    a[b] = 1\n", "def f(a, b):\n    if b not in a:\n        a[b] = 1\n", NONE),
        ("def f(a, b):\n    if a.ready:\n        g(a)\n    h(b)\n",
         "def f(a, b):\n    if a.ready:\n        g(a)\n    if not (a.ready):\n        h(b)\n", NONE),
        ("def f(a):\n    return a[:-1]\n", "def f(a):\n    return a[1:]\n", NONE),
        # imported_name, imported_module
        ("from m import totl\ndef total(a):\n    return a\n", "from m import total\ndef total(a):\n    return a\n",
         Hints(missing_names=frozenset({"totl"}))),
        ("from m import totl\ndef total(a):\n    return totl\n",
         "from m import total as totl\ndef total(a):\n    return totl\n", Hints(missing_names=frozenset({"totl"}))),
        # none_for_falsy
        ("def f(a):\n    if a.b: return 1\n", "def f(a):\n    if a.b is not None: return 1\n", NONE),
        ("def f(a):\n    if not a: return 1\n", "def f(a):\n    if a is None: return 1\n", NONE),
        ("def f(a, b):\n    return a or b\n", "def f(a, b):\n    return a if a is not None else b\n", NONE),
        # normalised
        ("def f(a):\n    return a.b == 'X'\n", "def f(a):\n    return a.b.upper() == 'X'\n", NONE),
        ("from m import read, _read\ndef f(a):\n    return read(a)\n",
         "from m import read, _read\ndef f(a):\n    return _read(a)\n", NONE),
        # borrowed_argument, borrowed_condition
        ("def f(p):\n    p.add('a', action='store_true')\n    p.add('b')\n",
         "def f(p):\n    p.add('a', action='store_true')\n    p.add('b', action='store_true')\n", NONE),
        ("def f(a, b):\n    if a.plain: return 1\n    if b: return 2\n",
         "def f(a, b):\n    if a.plain: return 1\n    if b and not a.plain: return 2\n", NONE),
        # more_types, typed_condition
        ("def f(a):\n    return isinstance(a, list)\n",
         "def f(a):\n    return isinstance(a, (list, tuple))\n", NONE),
        ("def f(a):\n    try:\n        return a()\n    except ValueError:\n        return None\n",
         "def f(a):\n    try:\n        return a()\n    except (ValueError, OverflowError):\n        return None\n",
         Hints(errors=frozenset({"OverflowError"}))),
        ("def f(a):\n    if a == 1: return a\n",
         "def f(a):\n    if isinstance(a, int) and a == 1: return a\n", NONE),
        # wrapped_by_module, missing_import
        ("from m import g\nh = g(1)\ndef f(a):\n    return a\n",
         "from m import g\nh = g(1)\ndef f(a):\n    return g(a)\n", NONE),
        ("import os\ndef f(a):\n    return re.sub('a', '', a)\n",
         "import re\nimport os\ndef f(a):\n    return re.sub('a', '', a)\n",
         Hints(missing_names=frozenset({"re"}))),
        # regular expressions
        (r"A = r'\d+\.\d+'" "\n", r"A = r'\d*\.\d+'" "\n", NONE),
        (r"A = r'(-+){3,}[ ]*'" "\n", r"A = r'(-+){3,}[ ]*$'" "\n", NONE),
        (r"A = '[0-9_A-Z]\\s'" "\n", r"A = '[0-9_\\w]\\s'" "\n", NONE),
        (r"A = r'<meta\b[^<>]*>'" "\n", r"A = r'<meta\b[^<>]*>?'" "\n", NONE),
        # expected_text
        ("A = 'must be in [HH:[MM:]]ss format'\n", "A = 'must be in [[HH:]MM:]ss format'\n",
         Hints(texts=(("x must be in [HH:[MM:]]ss format.", "x must be in [[HH:]MM:]ss format."),))),
        ("A = ('must be in '\n     '[HH:[MM:]]ss format')\n", "A = ('must be in '\n     '[[HH:]MM:]ss format')\n",
         Hints(texts=(("x must be in [HH:[MM:]]ss format.", "x must be in [[HH:]MM:]ss format."),))),
        ("def f(a, b):\n    return f'{a} where not found in {b!r}'\n",
         "def f(a, b):\n    return f'{a} were not found in {b!r}'\n",
         Hints(texts=(("no where not found in 'it'", "no were not found in 'it'"),))),
        ("def f(a, b):\n    return '%s has no %s, so give it one' % (a, b)\n",
         "def f(a, b):\n    return '%s has no %s; give it one' % (a, b)\n",
         Hints(texts=(("cat has no tail, so give it one", "cat has no tail; give it one"),))),
        # replaced_everywhere,
        # guarded
        ("def f(a):\n    while a.x + a.y:\n        a = g(a.x + a.y)\n",
         "def f(a):\n    while a.y + a.x:\n        a = g(a.y + a.x)\n", NONE),
        ("def f(a, b):\n    for k in a:\n        b[k] = a[k]\n",
         "def f(a, b):\n    for k in a:\n        if k in a:\n            b[k] = a[k]\n", NONE),
        ("A = (r'(\\d+)'\n     r'|(\\w+)$')\n", "A = (r'(\\d*)'\n     r'|(\\w+)$')\n", NONE),
    ],
)  # fmt: skip
def test_the_fix_is_among_the_candidates(before: str, after: str, told: Hints) -> None:
    wanted = ast.dump(ast.parse(after))
    assert wanted in [ast.dump(ast.parse(each)) for each in results(before, told)]


@pytest.mark.parametrize(
    "literal",
    [
        r"r'\d+\.\d+'",
        r"rb'\d+ \w'",
        r"'[0-9_A-Z]\\s'",
        r"b'\\d*\\.\\s+'",
        r"u'(\\w|\n)\\b'",
        r"'a\tb'",
        "b'a'",
    ],
)
def test_no_candidate_has_an_escape_that_python_does_not_know(literal: str) -> None:
    source = f"A = {literal}\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = results(source)
    assert found
    for each in found:
        compile(each, "a.py", "exec")  # a warning is an error


def failed(message: str, error: str = "AssertionError") -> Test:
    return Test(index=0, id="t", file="t.py", standing="failed", error=error, message=message)


@pytest.mark.parametrize(
    "message",
    [
        "'an old text' != 'a new text'",
        "assert 'an old text' == 'a new text'",
        "assert 'an old text...' == 'a new text...'\n  \n  - a new text\n  ? ^\n  + an old text",
        "Regex pattern did not match.\n Regex: a new text\n Input: an old text",
        "Regex pattern did not match.\n  Expected regex: 'a new text'\n  Actual message: 'an old text'",
    ],
)
def test_texts_that_an_assertion_compared_are_known(message: str) -> None:
    assert ("an old text", "a new text") in extract_hints([failed(message)]).texts


def test_arguments_of_other_calls_may_be_written_with_blanks_and_over_several_lines() -> None:
    call = "    g(a, key = True, least=1\n        + 2)\n"
    text = f"def f(a, g):\n{call}{call}    return g(a)\n"
    assert any("return g(a, key = True)" in each for each in results(text))
