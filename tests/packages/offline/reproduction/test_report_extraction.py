"""Fields of bug reports: Markdown, reStructuredText, plain text, sessions, traces, and hostile ones."""

from __future__ import annotations

import pytest

from packages.offline.reproduction.drafts import find_told_imports
from packages.offline.reproduction.report.extract import extract_report

FENCED_SESSION = """\
is_upper() raises IndexError for tall matrices
The function Matrix.is_upper raises an IndexError for a 4x2 matrix of zeros.
```
>>> sympy.zeros(4,2).is_upper
Traceback (most recent call last):
  File "<stdin>", line 1, in <module>
  File "sympy/matrices/matrices.py", line 1112, in is_upper
    for i in range(1, self.rows)
IndexError: Index out of range: a[2]
```
"""
IPYTHON = """\
Bug with milli prefix
What happened:
```
In [1]: from sympy.physics.units import milli, W
In [2]: milli*W == 1
Out[2]: True
In [3]: print([
   ...:     milli,
   ...: ])
[milli]
```
"""
UNMARKED = """\
Make slugify() strip dashes
Description

Bug generation slug
Example:
from django.utils import text
text.slugify("___This is a test ---")
output: ___this-is-a-test-
Improvement after correction
"""
LITERAL = """\
hstack is wrong
===============

This code::

    M = zeros(0, 2)
    M.shape

gives `(0, 2)`, and should be `(0, 3)`.
"""
IPYTHON_TRACE = """\
Poly fails
```
In [15]: Poly(x, domain='RR')
---------------------------------------------------------------------------
OptionError                               Traceback (most recent call last)
<ipython-input-15-d83389519ae1> in <module>()
----> 1 Poly(x, domain='RR')

/home/a/sympy/polys/polytools.py in __new__(cls, rep, *gens, **args)
     69     def __new__(cls, rep, *gens, **args):
---> 71         opt = options.build_options(gens, args)

OptionError: expected a valid domain
```
"""
CHAINED = """\
Boom
Traceback (most recent call last):
  File "/usr/lib/a.py", line 3, in one
    x()
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/usr/lib/b.py", line 9, in two
    y()
package.errors.LookupFailed: no such thing
"""
PYTHON_2 = """\
Exponent
```
res = simplify(x)
print res
```
The output is
`-0.5*x`
"""
COMMENTS = """\
Wrong sums
```python
total([1])  # returns 2
total([2])
# -> 3
total([4])  # 5 (should be 4)
len({a, b}) == 1  # Unexpected!
```
"""


@pytest.mark.parametrize(
    ("text", "exchanges"),
    [
        (FENCED_SESSION, [("sympy.zeros(4,2).is_upper", "", "IndexError")]),
        (
            IPYTHON,
            [
                ("from sympy.physics.units import milli, W", "", ""),
                ("milli*W == 1", "True", ""),
                ("print([\n    milli,\n])", "[milli]", ""),
            ],
        ),
        (
            UNMARKED,
            [
                ("from django.utils import text", "", ""),
                ('text.slugify("___This is a test ---")', "___this-is-a-test-", ""),
            ],
        ),
        (LITERAL, [("M = zeros(0, 2)", "", ""), ("M.shape", "(0, 2)", "")]),
        (IPYTHON_TRACE, [("Poly(x, domain='RR')", "", "OptionError")]),
        (PYTHON_2, [("res = simplify(x)", "", ""), ("print(res)", "-0.5*x", "")]),
        (
            COMMENTS,
            [
                ("total([1])", "2", ""),
                ("total([2])", "3", ""),
                ("total([4])", "5", ""),
                ("len({a, b}) == 1", "True", ""),
            ],
        ),
        ("`0**-oo` produces `0`.", [("0**-oo", "0", "")]),
    ],
    ids=["session", "ipython", "unmarked", "literal", "ipython trace", "python 2", "comments", "inline"],
)
def test_code_is_found_with_the_results_told_for_it(text: str, exchanges: list[tuple[str, str, str]]) -> None:
    found = extract_report(text).snippets[0].exchanges
    assert [(e.source, e.output, e.error.type if e.error else "") for e in found] == exchanges


def test_an_expected_value_is_told_apart_from_the_seen_one() -> None:
    [snippet] = extract_report("`total([1, 2])` returns `2` but it should return `3`.").snippets
    assert (snippet.exchanges[0].output, snippet.exchanges[0].expected) == ("2", "3")
    assert extract_report(LITERAL).snippets[0].exchanges[-1].expected == "(0, 3)"


@pytest.mark.parametrize(
    ("text", "type_", "message", "has_trace"),
    [
        (FENCED_SESSION, "IndexError", "Index out of range: a[2]", True),
        (IPYTHON_TRACE, "OptionError", "expected a valid domain", True),
        (CHAINED, "LookupFailed", "no such thing", True),
        ("It fails with `ValueError: bad value`.", "ValueError", "bad value", False),
        ("This raises a `TypeError` sometimes.", "TypeError", "", False),
        ("Error is {TypeError}unhashable type: 'X'.", "TypeError", "unhashable type: 'X'", False),
    ],
)
def test_errors_are_found_with_their_message(text: str, type_: str, message: str, has_trace: bool) -> None:
    error = extract_report(text).errors[0]
    assert (error.type, error.message, error.has_trace) == (type_, message, has_trace)


def test_an_error_that_should_happen_is_expected() -> None:
    [error] = extract_report("Calling it with 0 should raise a ValueError.").errors
    assert error.role == "expected"


def test_frames_name_path_line_and_function() -> None:
    frames = extract_report(FENCED_SESSION).errors[0].frames
    assert [(each.path, each.line, each.function) for each in frames][-1] == (
        "sympy/matrices/matrices.py",
        1112,
        "is_upper",
    )


def test_sections_and_versions_are_read() -> None:
    report = extract_report(
        "# Crash\n\n## Steps to reproduce\n1. open it\n2. close it\n\n## Expected behavior\nno crash\n\n"
        "## Actual behavior\nit crashes\n\nPython 3.8.2, Django 3.0.7\n"
    )
    assert report.title == "Crash"
    assert report.steps == ("open it", "close it")
    assert (report.expected, report.actual[0]) == (("no crash",), "it crashes")
    assert {"Python 3.8.2", "Django 3.0.7"} <= set(report.versions)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00\xff\x01" * 500,
        "```\n" * 3000,
        ">>> " * 50_000,
        "(" * 100_000,
        "x = 1\n" * 60_000,
        "`a(1)` " * 20_000,
    ],
    ids=["empty", "binary", "fences", "prompts", "brackets", "huge", "inline"],
)
@pytest.mark.timeout(20)
def test_any_text_is_read_in_little_time(text: str) -> None:
    assert len(extract_report(text).snippets) <= 20_000


def test_prose_alone_holds_no_code() -> None:
    report = extract_report("The page is slow.\n\nI think it should be faster. See the docs.")
    assert not report.has_code


TIGHT_PROMPTS = """\
Two lines
```
>>>import cart
>>>cart.total()
3
```
"""
VALUES_BEHIND_PROMPTS = """\
Cuts are missing
```
G = path()
list(cuts(G))
>>> [{1}]
```
"""
VALUES_IN_A_BLOCK_OF_THEIR_OWN = """\
Cuts are missing

    G = path()
    print(cuts(G))
    print(len(G))

    >>> [{1}]
    >>> 3
"""
COPIED_VALUE = """\
Not contained
```
list(filter(["1.0b0"]))
['1.0b0']
```
"""
HEADLESS_TRACE = """\
Parsing crashes. It should be more graceful.

Below is the stack trace:
```
  File "/usr/lib/rules.py", line 9, in parse
    n = day[:i]
UnboundLocalError: local variable 'i' referenced before assignment
```
`rules.parse("FREQ=;")`
"""


@pytest.mark.parametrize(
    ("text", "exchanges"),
    [
        (TIGHT_PROMPTS, [("import cart", ""), ("cart.total()", "3")]),
        (VALUES_BEHIND_PROMPTS, [("G = path()", ""), ("list(cuts(G))", "[{1}]")]),
        (
            VALUES_IN_A_BLOCK_OF_THEIR_OWN,
            [("G = path()", ""), ("print(cuts(G))", "[{1}]"), ("print(len(G))", "3")],
        ),
        (COPIED_VALUE, [('list(filter(["1.0b0"]))', "['1.0b0']")]),
        ("`f(2)` gives ParsingException whereas `f(3)` works.", [("f(2)", ""), ("f(3)", "")]),
    ],
)
def test_sessions_are_read_as_people_write_them(text: str, exchanges: list[tuple[str, str]]) -> None:
    report = extract_report(text)
    assert [(e.source, e.output) for each in report.snippets for e in each.exchanges] == exchanges


def test_a_trace_without_its_first_line_tells_its_exception() -> None:
    (error,) = extract_report(HEADLESS_TRACE).errors
    assert (error.type, error.role, [each.function for each in error.frames]) == (
        "UnboundLocalError",
        "actual",
        ["parse"],
    )


@pytest.mark.parametrize(
    ("prose", "is_told"),
    [
        ("The following query raises a parsing error:", True),
        ("It crashes.", True),
        ("This does not raise an error.", False),
        ("It should raise an error.", False),
        ("The total is too low.", False),
        ("It raises a KeyError, which is an error.", False),  # its type is told
    ],
)
def test_a_failure_may_be_told_without_a_type(prose: str, is_told: bool) -> None:
    assert ("" in {each.type for each in extract_report(f"{prose}\n\n    f(1)\n").errors}) is is_told


def test_a_trace_that_is_cut_tells_that_something_is_raised() -> None:
    text = (
        '```\nf(1)\n```\n```\nTraceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n```\n'
    )
    assert [(each.type, each.has_trace) for each in extract_report(text).errors] == [("", True)]


def test_imports_that_are_named_anywhere_are_found() -> None:
    text = 'I started `python -ic "import tomlkit as tk"` and used from shop import Cart.'
    assert find_told_imports(text) == {"tk": "import tomlkit as tk", "Cart": "from shop import Cart"}


@pytest.mark.parametrize(
    ("lead", "role"),
    [
        ("The same code with 2.3 correctly produces:", "expected"),
        ("Version 0.11.8 shows the expected behaviour (in Python 3.11):", "expected"),
        ("It produces:", "actual"),
    ],
)
def test_a_session_after_praise_shows_what_is_right(lead: str, role: str) -> None:
    (snippet,) = extract_report(f"{lead}\n```\n>>> total()\n3\n```\n").snippets
    assert snippet.exchanges[0].role == role


def test_a_comment_may_tell_an_exception() -> None:
    text = "Boom\n```\nf(1)  # -> ValueError: no such thing\n```\n"
    (exchange,) = extract_report(text).snippets[0].exchanges
    assert exchange.error is not None
    assert (exchange.output, exchange.error.type, exchange.error.message) == (
        "",
        "ValueError",
        "no such thing",
    )


def test_a_session_after_a_wish_shows_what_happens() -> None:
    text = "It is wrong: we should have one factor and not two.\n```\n> f(1)\n> 2\n> f(2)\n> 3\n```\n"
    assert [each.role for each in extract_report(text).snippets[0].exchanges] == ["actual", "actual"]


@pytest.mark.parametrize(
    ("text", "is_order"),
    [
        ("Fix this bug: the total is wrong.", True),
        ("Hello,\n\nplease repair `total`.", True),
        ("The total is wrong.\n\nA fix would be nice.", False),
        ("total() fails to fix the order of its prices", False),
    ],
)
def test_a_request_to_mend_is_told_from_a_report(text: str, is_order: bool) -> None:
    code = "\n\n```python\nassert total([1]) == 1\n```\n"
    assert extract_report(text + code).is_order is is_order
