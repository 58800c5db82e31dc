"""Templates that take their ingredients from the project around a statement, and those for what is written down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from packages.offline.repair.engine.candidates.candidate_generation import Candidate, generate_candidates
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import Hints, Source

pytestmark = pytest.mark.slow


def every(
    text: str, others: Mapping[str, str] | None = None, hints: Hints | None = None
) -> Iterator[Candidate]:
    """The candidates for a.py, every line of it being run by the one failing test."""
    sources = {"a.py": Source("a.py", text)} | {p: Source(p, t) for p, t in (others or {}).items()}
    lines = {"a.py": frozenset(node.lineno for node in sources["a.py"].statements)}
    failing = [Test(index=0, id="t.py::t", file="t.py", standing="failed", lines=lines)]
    suspects = rank_statements(sources, failing, Spectrum(tests=failing, imported={}, complete=True))
    return (c for c in generate_candidates(suspects, sources, hints or Hints()) if c.path == "a.py")


def results(text: str, others: Mapping[str, str] | None = None, hints: Hints | None = None) -> list[str]:
    """What they come to."""
    found = every(text, others, hints)
    return [text[: c.change.start] + c.change.text + text[c.change.end :] for c in found]


LIBRARY = {
    "b.py": "def draw(shape, fill=None, deep=False):\n    return shape\n\n\n"
    "class Pen:\n    def __init__(self, width, colour=None):\n        self.width = width\n\n\n"
    "def both(a):\n    a.flush()\n    return draw(a, deep=True), write(a, mode='x')\n"
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # what is called has an option of that name, defined in another file
        # others call it so
        ("def f(a):\n    b = a\n    return b\n", "def f(a):\n    b = a.flush()\n    return b\n"),
        # whose attribute it is
        ("class A:\n    def h(self, b):\n        self.b = b\n        self.b.c()\n\n    def f(self):\n"
         "        return g(self)\n",
         "class A:\n    def h(self, b):\n        self.b = b\n        self.b.c()\n\n    def f(self):\n"
         "        return g(self.b)\n"),
        # what is written down
        ("def f(a):\n    return a.get(b'x')\n", "def f(a):\n    return a.get('x')\n"),
        ("def f(a):\n    return g('\\n', a)\n", "def f(a):\n    return g(r'\\n', a)\n"),
        ("def f(a):\n    return g(a, (T.X, T.Y)), T.Z\n", "def f(a):\n    return g(a, (T.X, T.Y, T.Z)), T.Z\n"),
        ("def f(a):\n    return a in ['b', 'c', 'd']\n", "def f(a):\n    return a in ['b', 'd']\n"),
        ("def f(a):\n    return a in ['b', 'c', 'd']\n", "def f(a):\n    return a in ['b', 'c']\n"),
        ("def g(c):\n    if c.tag != 'x':\n        return c\n\n\ndef f(a):\n    if a is None:\n        return 1\n",
         "def g(c):\n    if c.tag != 'x':\n        return c\n\n\ndef f(a):\n    if a is None or a.tag != 'x':\n"
         "        return 1\n"),
        ("def f(a, b):\n    return a == 1\n", "def f(a, b):\n    return a == 1 and not b\n"),
        ("def f(a, k):\n    return a.pop(k)\n", "def f(a, k):\n    return a.pop(k, None)\n"),
        # what may not be there, what was written down
        ("def f(a, k):\n    return a[k]\n", "def f(a, k):\n    return a.get(k)\n"),
        ("def f(a):\n    return g(a.b)\n", "def f(a):\n    return g(a.b or None)\n"),
        ("class A:\n    def f(self, b):\n        self.b = 3\n", "class A:\n    def f(self, b):\n        self.b = b\n"),
        ("def f(a, i):\n    a.size = 1\n", "def f(a, i):\n    a.size = i\n"),
        ("def f(a):\n    return Pen(1, a)\n", "def f(a):\n    return Pen(1, colour=a)\n"),
        ("R = re.compile(r'( *)x')\n", "R = re.compile(r'(\\s*)x')\n"),
    ],
)  # fmt: skip
def test_the_fix_is_among_the_candidates(before: str, after: str) -> None:
    assert after in results(before, LIBRARY)


def test_a_call_gets_no_option_that_it_has() -> None:
    found = results("def f(a, fill):\n    return draw(a, fill)\n", LIBRARY)
    assert "def f(a, fill):\n    return draw(a, fill, fill=fill)\n" not in found


def test_an_attribute_that_nothing_has_is_mended_wherever_it_stands() -> None:
    before = "def f(a, b):\n    return a.issupserset(b)\n\n\ndef g(a, b):\n    return b.issupserset(a)\n"
    found = results(before, hints=Hints(missing_attributes=frozenset({"issupserset"})))
    assert before.replace("issupserset", "issuperset") in found[:5]
    assert before.replace("issupserset", "issuperset", 1) not in found[:20]


def test_an_order_is_not_asked_of_what_need_not_be_a_number() -> None:
    program = "def f(a, lines):\n    return lines == a.lines or re.match('a[bc]+$', lines) or len(a) == 2\n"
    found = {program[: c.change.start] + c.change.text + program[c.change.end :]: c for c in every(program)}
    assert program.replace("lines == a", "lines <= a") not in found
    assert found[program.replace("len(a) == 2", "len(a) <= 2")].precision > 0.75
    assert program.replace("lines == a", "lines is a") not in found


UNBOUND = "def f(a, low):\n    a.pop()\n    nothing.log(a)\n    a[x] += 1\n    return a[0]\n"


@pytest.mark.parametrize(
    "after",
    [
        UNBOUND.replace("    nothing.log(a)\n", ""),
    ],
)
def test_what_is_bound_nowhere_is_left_out_or_is_one_off_a_variable(after: str) -> None:
    assert after in results(UNBOUND)


def test_a_call_of_what_is_bound_is_not_taken_for_one_of_nothing() -> None:
    every_one = every(UNBOUND.replace("nothing.log", "low.log"))
    assert "undefined_call" not in {each.template for each in every_one}


def test_a_condition_that_nothing_defines_is_taken_for_a_comparison_first() -> None:
    text = "class A:\n    def f(self, a, b):\n        {}\n        return b\n"
    asked = results(text.format("if self.less(a, b): a += 1"))
    assert asked.index(text.format("if a < b: a += 1")) < asked.index(text.format("if a + b: a += 1"))
    computed = results(text.format("a = self.less(a, b)"))
    assert computed.index(text.format("a = a + b")) < computed.index(text.format("a = a < b"))


@pytest.mark.parametrize(
    ("head", "call", "beside", "expected"),
    [
        ("class A:", "self.less(a, b)", "", True),
        ("class A(object):", "self.less(a, b)", "", True),
        ("class A(B):", "self.less(a, b)", "", False),
        ("class A:", "self.less(a, b)", "class B(A):\n    def less(self, a, b): pass\n", False),
        ("class A:", "self.assertLess(a, b)", "", False),
    ],
)
def test_a_method_is_not_missing_when_another_class_may_have_it(
    head: str, call: str, beside: str, expected: bool
) -> None:
    text = f"{head}\n    def f(self, a, b):\n        return {call}\n"
    assert any(each.template == "undefined_method" for each in every(text, {"b.py": beside})) is expected
    told = Hints(missing_attributes=frozenset({call[5 : call.index("(")]}))
    assert any(each.template == "undefined_method" for each in every(text, {"b.py": beside}, told))
