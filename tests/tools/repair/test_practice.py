"""Templates for what goes wrong in libraries, and for what stands in strings: the fix is among the candidates."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from tests.tools.repair.test_candidates import results
from tools.repair.failures import hints
from tools.repair.spectrum import Test
from tools.repair.templates import Hints

NONE = Hints()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # answer_too_early: what comes after the loop, in an `elif` too; what follows answers already
        ("def f(a):\n    for x in a:\n        if x:\n            return True\n        else:\n"
         "            return False\n",
         "def f(a):\n    for x in a:\n        if x:\n            return True\n    return False\n", NONE),
        ("def f(a):\n    for x in a:\n        if x:\n            return 1\n        elif g(x):\n            return 2\n"
         "        else:\n            return 0\n",
         "def f(a):\n    for x in a:\n        if x:\n            return 1\n        elif g(x):\n            return 2\n"
         "    return 0\n", NONE),
        ("def f(a):\n    for x in a:\n        if x:\n            return 1\n        else:\n            return 0\n"
         "    return 2\n",
         "def f(a):\n    for x in a:\n        if x:\n            return 1\n    return 2\n", NONE),
        # called_with_names, order_kept, counted_loop
        ("def days(month, all):\n    return all\ndef f(month, all):\n    return [x for x in days]\n",
         "def days(month, all):\n    return all\ndef f(month, all):\n    return [x for x in days(month, all)]\n", NONE),
        ("def days(month):\n    return month\ndef f(month):\n    return all_days\n",
         "def days(month):\n    return month\ndef f(month):\n    return days(month)\n", NONE),
        ("def f(a):\n    return list(set(a))\n", "def f(a):\n    return list(dict.fromkeys(a))\n", NONE),
        ("def f(a):\n    for i in len(a):\n        g(i)\n",
         "def f(a):\n    for i in range(len(a)):\n        g(i)\n", NONE),
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
        # normalised, special_name, similar_name
        ("def f(a):\n    return a.b == 'X'\n", "def f(a):\n    return a.b.upper() == 'X'\n", NONE),
        ("def f(a):\n    return a.__name__\n", "def f(a):\n    return a.__qualname__\n", NONE),
        ("from m import read, _read\ndef f(a):\n    return read(a)\n",
         "from m import read, _read\ndef f(a):\n    return _read(a)\n", NONE),
        # forwarded_argument
        ("def f(a, strict=True):\n    return g(a)\n",
         "def f(a, strict=True):\n    return g(a, strict=strict)\n", NONE),
        ("def f(a, **kw):\n    return g(a)\n", "def f(a, **kw):\n    return g(a, **kw)\n", NONE),
        # borrowed_argument, borrowed_condition
        ("def f(p):\n    p.add('a', action='store_true')\n    p.add('b')\n",
         "def f(p):\n    p.add('a', action='store_true')\n    p.add('b', action='store_true')\n", NONE),
        ("def f(a, b):\n    if a.plain: return 1\n    if b: return 2\n",
         "def f(a, b):\n    if a.plain: return 1\n    if b and not a.plain: return 2\n", NONE),
        # more_types, membership_for_type, foreign_operand, typed_condition
        ("def f(a):\n    return isinstance(a, list)\n",
         "def f(a):\n    return isinstance(a, (list, tuple))\n", NONE),
        ("def f(a):\n    try:\n        return a()\n    except ValueError:\n        return None\n",
         "def f(a):\n    try:\n        return a()\n    except (ValueError, OverflowError):\n        return None\n",
         Hints(errors=frozenset({"OverflowError"}))),
        ("def f(a, b):\n    return a in b\n", "def f(a, b):\n    return issubclass(a, b)\n", NONE),
        ("class A:\n    def __eq__(self, other):\n        return self.x == other.x\n",
         "class A:\n    def __eq__(self, other):\n        if not isinstance(other, A):\n"
         "            return NotImplemented\n        return self.x == other.x\n", NONE),
        ("def f(a):\n    if a == 1: return a\n",
         "def f(a):\n    if isinstance(a, int) and a == 1: return a\n", NONE),
        ("KINDS = ['suite', 'stmt']\nOTHER = ('async_stmt', 'async_def', 'zero')\n",
         "KINDS = ['suite', 'stmt', 'async_def']\nOTHER = ('async_stmt', 'async_def', 'zero')\n",
         Hints(words=frozenset({"dec_async"}))),
        # missing_check, missing_handler, first_if_any
        ("class A:\n    def __init__(self, size):\n        self.size = size\n        if self.size: go()\n",
         "class A:\n    def __init__(self, size):\n        self.size = size\n        if self.size < 0:\n"
         "            raise ValueError('size must not be negative')\n        if self.size: go()\n",
         Hints(unraised=frozenset({"ValueError"}))),
        ("def f(a):\n    if a is None:\n        raise TypeError('no', a)\n    return a\ndef g(a):\n    return a\n",
         "def f(a):\n    if a is None:\n        raise TypeError('no', a)\n    return a\ndef g(a):\n"
         "    if a is None:\n        raise TypeError('no', a)\n    return a\n",
         Hints(unraised=frozenset({"TypeError"}))),
        ("def f(a):\n    for b in a:\n        g(int(b))\n",
         "def f(a):\n    for b in a:\n        try:\n            g(int(b))\n        except ValueError:\n"
         "            continue\n", Hints(errors=frozenset({"ValueError"}))),
        ("def f(a):\n    return [a[0]] + a[1:]\n", "def f(a):\n    return a[:1] + a[1:]\n",
         Hints(errors=frozenset({"IndexError"}))),
        ("def f(a):\n    return a.b[-1]\n", "def f(a):\n    return a.b[-1] if a.b else None\n",
         Hints(errors=frozenset({"IndexError"}))),
        # missing_key, more_elements, moved_element
        ("def f(model):\n    return {'a': 1}\n", "def f(model):\n    return {'a': 1, 'model': model}\n",
         Hints(missing_keys=frozenset({"model"}))),
        ("KINDS = ['red', 'blue']\nOTHER = 'green'\n", "KINDS = ['red', 'blue', 'green']\nOTHER = 'green'\n", NONE),
        ("def f(a, b, c):\n    return [a, b, c]\n", "def f(a, b, c):\n    return [b, c, a]\n", NONE),
        # moved_further, wrapped_by_module, missing_import
        ("def f(a):\n    a.x()\n    a.y()\n    a.z()\n    return a\n",
         "def f(a):\n    a.y()\n    a.z()\n    a.x()\n    return a\n", NONE),
        ("from m import g\nh = g(1)\ndef f(a):\n    return a\n",
         "from m import g\nh = g(1)\ndef f(a):\n    return g(a)\n", NONE),
        ("import os\ndef f(a):\n    return re.sub('a', '', a)\n",
         "import re\nimport os\ndef f(a):\n    return re.sub('a', '', a)\n",
         Hints(missing_names=frozenset({"re"}))),
        # regular expressions
        (r"A = r'\d+\.\d+'" "\n", r"A = r'\d*\.\d+'" "\n", NONE),
        (r"A = r'(-+){3,}[ ]*'" "\n", r"A = r'(-+){3,}[ ]*$'" "\n", NONE),
        (r"A = '[0-9_A-Z]\\s'" "\n", r"A = '[0-9_\\w]\\s'" "\n", NONE),
        (r"A = r'\d+,\d+'" "\n", r"A = r'\d*,\d*'" "\n", NONE),
        (r"A = r'<meta\b[^<>]*>'" "\n", r"A = r'<meta\b[^<>]*'" "\n", NONE),
        (r"A = r'<meta\b[^<>]*>'" "\n", r"A = r'<meta\b[^<>]*>?'" "\n", NONE),
        ("import re\ndef f(a):\n    return re.match(r'a+b', a)\n",
         "import re\ndef f(a):\n    return re.match(r'a+b', a, flags=re.IGNORECASE)\n", NONE),
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
        # sign_of_the_tests, membership_for_type, own_attribute_handed_on, missing_key_with_care, replaced_everywhere,
        # guarded, rounded_otherwise
        (r"A = r'[-a-z~]+://[a-z.]*'" "\n", r"A = r'[-a-z~]+://[a-z.@]*'" "\n", Hints(signs="/@")),
        (r"A = '[-a-z~]+'" "\n", r"A = '[-a-z~\\]]+'" "\n", Hints(signs="]")),
        ("def f(a):\n    return a is True\n", "def f(a):\n    return isinstance(a, bool)\n", NONE),
        ("class A:\n    def __init__(self, a, b):\n        self.a = a\n        self.b = b\n"
         "    def f(self):\n        return dict(a=self.a)\n",
         "class A:\n    def __init__(self, a, b):\n        self.a = a\n        self.b = b\n"
         "    def f(self):\n        return dict(a=self.a, b=self.b)\n", NONE),
        ("def f(a):\n    return a['k'] or []\n", "def f(a):\n    return a.get('k') or []\n",
         Hints(missing_keys=frozenset({"k"}))),
        ("def f(a):\n    while a.x + a.y:\n        a = g(a.x + a.y)\n",
         "def f(a):\n    while a.y + a.x:\n        a = g(a.y + a.x)\n", NONE),
        ("def f(a, b):\n    for k in a:\n        b[k] = a[k]\n",
         "def f(a, b):\n    for k in a:\n        if k in a:\n            b[k] = a[k]\n", NONE),
        ("def f(a, b):\n    return (a - b) // b\n", "def f(a, b):\n    return int((a - b) / b)\n", NONE),
        ("def f(a, b):\n    return a // b\n", "def f(a, b):\n    return -(-a // b)\n", NONE),
        # undefined_everywhere, everything_caught, first_element, wrapped_as
        ("from m import to_bytes\ndef f(a, b):\n    a = unicode_to_str(a)\n    return a + unicode_to_str(b)\n",
         "from m import to_bytes\ndef f(a, b):\n    a = to_bytes(a)\n    return a + to_bytes(b)\n", NONE),
        ("def f(a):\n    try:\n        a()\n    except OSError:\n        pass\n",
         "def f(a):\n    try:\n        a()\n    except Exception:\n        pass\n", NONE),
        ("A = [('Model', []), (1, ['x'])]\nB = 'import Model'\n",
         "A = [('Model', ['import Model']), (1, ['x'])]\nB = 'import Model'\n", NONE),
        ("from functools import partial, wraps\ndef f(a, b):\n    return partial(a.__get__(b), 1)\n",
         "from functools import partial, wraps\ndef f(a, b):\n    return wraps(a)(partial(a.__get__(b), 1))\n", NONE),
        ("import functools\ndef f(a):\n    def g(*b):\n        return a(*b)\n    return g\n",
         "import functools\ndef f(a):\n    @functools.wraps(a)\n    def g(*b):\n        return a(*b)\n    return g\n",
         NONE),
        ("A = (r'(\\d+)'\n     r'|(\\w+)$')\n", "A = (r'(\\d*)'\n     r'|(\\w+)$')\n", NONE),
    ],
)  # fmt: skip
def test_the_fix_is_among_the_candidates(before: str, after: str, told: Hints) -> None:
    wanted = ast.dump(ast.parse(after))
    assert wanted in [ast.dump(ast.parse(each)) for each in results(before, told)]


def test_what_failing_tests_say_in_signs_is_known() -> None:
    failing = Test(index=0, id="t.py::test_url[a@b]", file="t.py", standing="failed", message="no ~ here")
    assert hints([failing]).signs == ".:@[]~"


def test_an_opening_that_all_siblings_share_is_added_under_the_functions_own_name() -> None:
    text = dedent("""\
        class Query:
            def update(self):
                self.check('update')
                return 1

            def delete(self):
                self.check('delete')
                return 2

            def distinct(self):
                return 3
        """)
    wanted = text.replace("        return 3", "        self.check('distinct')\n        return 3")
    assert wanted in results(text)


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
    assert ("an old text", "a new text") in hints([failed(message)]).texts


def test_a_missing_key_is_known_only_from_a_key_error() -> None:
    assert hints([failed("'model'", "KeyError")]).missing_keys == {"model"}
    assert not hints([failed("'model'")]).missing_keys


def test_arguments_of_other_calls_may_be_written_with_blanks_and_over_several_lines() -> None:
    call = "    g(a, key = True, least=1\n        + 2)\n"
    text = f"def f(a, g):\n{call}{call}    return g(a)\n"
    assert any("return g(a, key = True)" in each for each in results(text))


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("DID NOT RAISE <class 'package.errors.Wrong'>", "Failed"),
        ("DID NOT RAISE Wrong", "Failed"),
        ("Wrong not raised", "AssertionError"),
        ("package.errors.Wrong not raised by f", "AssertionError"),
    ],
)
def test_an_exception_that_a_test_waited_for_in_vain_is_known(message: str, error: str) -> None:
    assert hints([failed(message, error)]).unraised == {"Wrong"}
