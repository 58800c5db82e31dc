"""Ranking, templates and candidates as pure functions of source and spectrum."""

from __future__ import annotations

import ast
import functools
import itertools
import re
import warnings
from collections.abc import Iterator
from textwrap import dedent

import pytest

from packages.offline.repair.engine.candidates.candidate_generation import (
    GROUPS_FITTED,
    Candidate,
    generate_at_statement,
    generate_candidates,
)
from packages.offline.repair.engine.candidates.change_pairs import generate_pairs
from packages.offline.repair.engine.candidates.fix_edits import extract_unique_lines
from packages.offline.repair.localize.coverage_spectrum import (
    Spectrum,
    Standing,
    Test,
    is_test_file,
    select_by_targets,
)
from packages.offline.repair.localize.failure_analysis import extract_hints, group_by_fault
from packages.offline.repair.localize.statement_ranking import create_suspect, rank_statements
from packages.offline.repair.templates import TEMPLATES, Change, Hints, Site, Source, Template
from packages.offline.repair.templates.support.precedence import negate_condition

PROGRAM = dedent('''\
    import math

    LIMIT = 10


    class Basket:
        """Ein Korb für Äpfel."""

        def __init__(self, items=None, größe=3):
            self.items = items or []
            self.size = größe

        def add(self, item, count=1):
            if item is None or count < 1:
                raise ValueError("nothing to add")
            for _ in range(count - 1):
                self.items.append(item)
            return len(self.items)

        def fits(self, other):
            return self.size >= other.size and not (self.items == other.items)


    def area(radius, *, scale=1.0):
        """π r²"""
        label = f"{radius} → {scale:.2f}"; result = math.pi * radius ** 2 * scale
        while result > LIMIT and scale:
            result -= LIMIT / (scale + 1)
            if result < 0:
                break
        return result, label


    def pick(values, low, high):
        first = values[low:high + 1][0]
        last = values[-1] if values else None
        return [v for v in values if first <= v < last] + [first, last]
    ''')


def test(index: int, standing: Standing, lines: set[int]) -> Test:
    return Test(
        index=index, id=f"t.py::{index}", file="t.py", standing=standing, lines={"a.py": frozenset(lines)}
    )


test.__test__ = False  # type: ignore[attr-defined]


NO_HINTS = Hints()


@functools.cache
def everything(text: str, hints: Hints = NO_HINTS, beside: str = "") -> list[Candidate]:
    source = Source("a.py", text)
    every = {node.lineno for node in source.statements}
    failing = [test(0, "failed", every)]
    spectrum = Spectrum(tests=failing, imported={}, complete=True)
    sources = {"a.py": source, "b.py": Source("b.py", beside)}
    return list(generate_candidates(rank_statements(sources, failing, spectrum), sources, hints))


def results(text: str, hints: Hints = NO_HINTS) -> list[str]:
    return [text[: c.change.start] + c.change.text + text[c.change.end :] for c in everything(text, hints)]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_every_candidate_is_python_and_a_different_program_and_most_are_made_once() -> None:
    found = results(PROGRAM)
    assert len(found) > 1000
    dumps = [ast.dump(ast.parse(each)) for each in found]
    assert ast.dump(ast.parse(PROGRAM)) not in dumps
    assert len(set(dumps)) > 0.97 * len(dumps)


@pytest.mark.slow
def test_candidates_come_in_the_same_order_every_time() -> None:
    def listed() -> list[tuple[str, int, int, str]]:
        everything.cache_clear()
        return [(c.template, c.change.start, c.change.end, c.change.text) for c in everything(PROGRAM)]

    assert listed() == listed()


@pytest.mark.slow
def test_candidates_come_by_falling_priority() -> None:
    priorities = [candidate.priority for candidate in everything(PROGRAM)]
    assert all(first >= second for first, second in itertools.pairwise(priorities))


@pytest.mark.slow
def test_where_likelihood_counts_the_likeliest_come_first_though_not_all_templates_were_asked() -> None:
    source = Source("a.py", PROGRAM)
    failing = [Test(index=0, id="t", file="t.py", standing="failed", lines={"a.py": frozenset(range(1, 99))})]
    suspects = rank_statements({"a.py": source}, failing, Spectrum(tests=failing, imported={}, complete=True))
    found = list(generate_candidates(suspects, {"a.py": source}, NO_HINTS, fitted=True))
    for statement in {id(each.suspect.statement) for each in found}:
        for group in GROUPS_FITTED:
            names = {template.name for template in group}
            alike = [e for e in found if id(e.suspect.statement) == statement and e.template in names]
            assert alike == sorted(alike, key=lambda each: -each.priority)
    best = sorted(found, key=lambda each: -each.priority)[:50]
    assert max(each.rank for each in best) < len(found) / 4
    assert len(found) == pytest.approx(len(everything(PROGRAM)), rel=0.02)


@pytest.mark.slow
def test_no_condition_is_decided_before_it_is_asked() -> None:
    text = "class A:\n    def f(self, a, b):\n        if self.x is not None and a:\n            return b\n"
    conditions = {after.split("\n")[2] for after in results(text)}
    assert "        if self.x is not None:" in conditions
    assert not [each for each in conditions if "self.x is None and self.x is not None" in each]
    assert not [
        each for each in conditions if re.search(r"if not a and a\b|\(not a and a\b|\ba or not a\b", each)
    ]
    assert not [each for each in conditions if re.search(r"if (not )?(str|repr)\([^()]*\):", each)]


@pytest.mark.slow
def test_a_comparison_is_turned_by_its_operator_not_by_a_word_before_it() -> None:
    conditions = {
        after.split("\n")[1] for after in results("def f(a, b):\n    if a != b:\n        return b\n")
    }
    assert "    if a == b:" in conditions
    assert not [each for each in conditions if re.search(r"not a != b|not \(a != b\)", each)]
    kept = results("def f(a, b):\n    if not a != b and a:\n        return b\n")
    assert any("if not a != b or a:" in each for each in kept)


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        ("a", "not a"),
        ("a.b(c)", "not a.b(c)"),
        ("not a.b", "a.b"),
        ("not (a or b)", "(a or b)"),
        ("a or b", "not (a or b)"),
        ("a and b", "not (a and b)"),
        ("a == b", "a != b"),
        ("(a or b) is (c if d else e)", "(a or b) is not (c if d else e)"),
        ("a not in b", "a in b"),
        ("a < b", "not a < b"),
        ("a < b == c", "not a < b == c"),
        ("a if b else c", "not (a if b else c)"),
        ("lambda: a", "not (lambda: a)"),
    ],
)
def test_the_opposite_of_a_condition_is_as_one_would_write_it(condition: str, opposite: str) -> None:
    assert negate_condition(condition) == opposite


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ('f"{38 + n};2"', ['f"{37 + n};2"', 'f"{38 - n};2"', 'f"{39 + n};2"']),
        ("f'%0{2 * (n * 8)}X'", ["f'%0{2 * (n // 8)}X'"]),
        (
            'f"é {n!r:>{w + 1}}" f"{w - 1}"',
            ['f"é {w!r:>{w + 1}}" f"{w - 1}"', 'f"é {n!r:>{w - 1}}" f"{w - 1}"'],
        ),
        ('f"""{n}\n  {w - 1}"""', ['f"""{n}\n  {w + 1}"""']),
    ],
)
def test_what_stands_in_the_braces_of_a_literal_is_changed_as_well(literal: str, expected: list[str]) -> None:
    made = results(f"def f(n, w):\n    return {literal}\n")
    for each in expected:
        assert f"def f(n, w):\n    return {each}\n" in made


def test_a_regular_expression_that_re_warns_of_warns_nobody_of_the_candidates() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = results("import re\ndef f(a):\n    return re.sub('[[a]b*', '', a)\n")
    assert any("[[a]b+" in text for text in made)
    assert not told


@pytest.mark.slow
def test_no_member_of_an_enumeration_is_made_one_more_or_less() -> None:
    text = "def f(count):\n    return g(count, Colour.RED), count == Colour.RED, count == self.WIDE\n"
    made = {each.change.text for each in everything(text) if each.template == "off_by_one"}
    assert {"count + 1", "self.WIDE + 1", "self.WIDE - 1"} <= made
    assert not {"Colour.RED + 1", "Colour.RED - 1"} & made


def test_a_question_about_a_name_that_begins_a_literal_as_well_is_lent() -> None:
    asked = "def g(b):\n    if b[-1:] != b'\"':\n        return 1\n"
    made = results(f"{asked}def f(a):\n    if a:\n        return 2\n")
    assert f"{asked}def f(a):\n    if a and a[-1:] != b'\"':\n        return 2\n" in made


def test_a_template_that_lends_what_is_no_python_stops_nothing() -> None:
    def broken(site: Site) -> Iterator[Change]:
        yield site.rewrite_statement("return 7", "")
        ast.parse("1 2")

    lending = Template(name="lending", prior=1.0, precision=0.9, changes=broken)
    source = Source("a.py", "def f(a):\n    return a\n")
    site = Site(source=source, statement=source.functions[0].body[0])
    suspect = create_suspect(source, site.statement, 1.0)
    found = generate_at_statement(suspect, site, [lending, *TEMPLATES[:3]], set(), False)
    assert [change.text for _, name, change, _ in found if name == "lending"] == ["return 7"]


USED_BY_EVERY_TEMPLATE = PROGRAM + dedent("""\


    def rest(word, items):
        total = 0
        seen = []
        if not word:
            return False
        for item in items:
            if item == "x": continue
            total = total + item.size
            area(total, items)
        total == 3
        nowhere.log(items[totl])
        node = node.next
        try:
            found = sorted(items), self.nothing(totl, "x"), area(totl, 2) == 0
            return totl + area(total, scale=2)
        except KeyError:
            items.appendd("y")
            return


    import functools
    import math
    from practice import counted, _counted, wrod
    from bb import paint
    from collections import Mapping
    NAMES = ["word", "items"]


    def painted(kind):
        return wrod(kind)


    class Words:
        def __eq__(self, other):
            return self.word.__name__ == other.word

        def first(self, strict, kind):
            self.check("first")
            for name in list(set(kind)):
                if counted(name, painted):
                    return True
                else:
                    return False
            return re.match(r"(\\w+)-\\w+$", kind) or "an old text"

        def second(self, kind):
            self.check("second")
            if isinstance(kind, str) and kind in NAMES:
                return counted({"word": [kind, 2, 3]})
            if kind.other:
                return re.sub("[ab]+", "b", kind["kind"], count=1)
            return kind

        def third(self, kind):
            _counted(kind)
            low = min(kind, 1)
            high = min(low, 2)
            if low == kind and high == kind:
                low = low.append(high)
            del kind["x"]
            if kind < high and kind.startswith("x"):
                return "one" + kind
            return counted(self) != ("one"), base64.encodestring(kind)

        def fourth(self, scale, step):
            area(1, 2), step.area(deep=True), Words.word, self.word.keys, rex(self), draw(step)
            if step.kind != 2:
                items.appendd("z")

        def reset(self):
            self.count = self.wide // 2
            return paint("word", []), paint(word=self.word, colour=1)

        def named(self, sort):
            def sorting(*given):
                return sort(*given)
            return sorting

        def clear(self, wide):
            self.wide = paint(self.word), isinstance(self, (ast.Add, ast.Sub)), ast.Mult
            if self.kind == "one" or self.kind == "two":
                self.kind = draw(paint(self.kind, 1))
            for self.deep, self.scale in step["x"]:
                self.wide = 7
            try:
                self.word.flush()
            except OSError:
                self.wide = 0


    class Words2(Words):
        def fifth(self, kind):
            names = {"word": kind}
            for name in names.get(kind):
                self.sorts.append(lambda: name)
            return "no {kind}", names, next(self.word)

        def sixth(self, kind=[]):
            kind.append(1)
            kind.sort()
            kind.reverse()
            if kind[0] % 200 + 1 == self.wide[0]:
                return kind or self.wide
            return self.kind

        def seventh(self):
            total = 0

            def one():
                total += 1

        async def eighth(self):
            return draw(self)
    """)


HINTS_FOR_EVERY_TEMPLATE = Hints(
    missing_attributes=frozenset({"appendd", "encodestring"}),
    missing_names=frozenset({"totl", "re", "rex", "wrod", "Mapping"}),
    missing_modules=frozenset({"bb"}),
    errors=frozenset({"IndexError"}),
    texts=(("an old text", "a new text"),),
    missing_members=frozenset({("int", "startswith")}),
)


@pytest.mark.slow
def test_every_template_has_candidates_or_waits_for_a_hint() -> None:
    beside = "def paint(word, thick=False):\n    draw(word, deep=True).flush()\n"
    used = {
        candidate.template
        for candidate in everything(USED_BY_EVERY_TEMPLATE, HINTS_FOR_EVERY_TEMPLATE, beside)
    }
    unused = {template.name for template in TEMPLATES} - used
    assert unused == {"as_committed", "as_it_was"}, "these wait for a past"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def f(a, b):\n    return a * b\n", "def f(a, b):\n    return (a + 1) * b\n"),
        ("def f(a, b):\n    return a < b\n", "def f(a, b):\n    return a <= b\n"),
        ("def f(a, b):\n    return 'ü', a < b  # é\n", "def f(a, b):\n    return 'ü', a <= b  # é\n"),
        ("def f(a, b):\n    return not a\n", "def f(a, b):\n    return a\n"),
        ("def f(a, b):\n    if a and b: return 1\n    return 2\n",
         "def f(a, b):\n    if a or b: return 1\n    return 2\n"),
        ("def f(a, b):\n    return g(a, b)\n", "def f(a, b):\n    return g(b, a)\n"),
        ("def f(a, b):\n    a.sort()\n    a\n", "def f(a, b):\n    a.sort()\n    return a\n"),
        ("def f(a, b):\n    for x in a:\n        b += x\n    return b\n",
         "def f(a, b):\n    for x in a:\n        b -= x\n    return b\n"),
        ("def f(a):\n    for x in a:\n        a += x\n        return a\n",
         "def f(a):\n    for x in a:\n        a += x\n    return a\n"),
        ("def f(words):\n    return len(wrds)\n", "def f(words):\n    return len(words)\n"),
        ("def f(n):\n    if n == 0:\n        return 1\n    elif n == 1:\n        return 2\n",
         "def f(n):\n    if n == 0:\n        return 1\n    elif n <= 1:\n        return 2\n"),
        # what does not exist
        ("def f(a):\n    return a + nothing\n", "def f(a):\n    return a + 1\n"),
        ("def f(a, b):\n    return a, nothing\n", "def f(a, b):\n    return a\n"),
        ("def f(a, b):\n    nothing.a = b\n    return a\n", "def f(a, b):\n    a = b\n    return a\n"),
        ("class A:\n    def f(self, a, b):\n        return self.less(a, b)\n",
         "class A:\n    def f(self, a, b):\n        return a < b\n"),
        ("class A:\n    def f(self, a, b):\n        return self.min(a, b)\n",
         "class A:\n    def f(self, a, b):\n        return min(a, b)\n"),
        # several places at once
        ("def f(a):\n    b = a[1]\n    return b + a[1]\n", "def f(a):\n    b = a\n    return b + a\n"),
        ("def f(a, b):\n    while b:\n        a += 1\n        b -= 1\n    return a\n",
         "def f(a, b):\n    while a:\n        b += 1\n        a -= 1\n    return a\n"),
        ("def f(n):\n    left = n.left\n    right = n.right\n    return left, right\n",
         "def f(n):\n    left = n.right\n    right = n.left\n    return left, right\n"),
        # the rest of what was added for them
        ("def f(a):\n    b = a == 0\n    return b\n", "def f(a):\n    b = a\n    return b\n"),
        ("def f(a):\n    if a:\n        a -= 1\n    return a\n",
         "def f(a):\n    while a:\n        a -= 1\n    return a\n"),
        ("def f(a):\n    if a:\n        a -= 1\n    a += 2\n    return a\n",
         "def f(a):\n    if a:\n        a -= 1\n    else:\n        a += 2\n    return a\n"),
        ("def f(a):\n    return a.pop(0)\n", "def f(a):\n    return a.pop()\n"),
        ("def f(a):\n    return sorted(a)\n", "def f(a):\n    return sorted(a, reverse=True)\n"),
        ("def f(a, k):\n    return a[k]\n", "def f(a, k):\n    return a[-k]\n"),
        ("def f(a):\n    b = a.next\n    return b\n", "def f(a):\n    b = a.next.next\n    return b\n"),
        ("def f(a):\n    low, high = 0, len(a)\n    return high\n",
         "def f(a):\n    low, high = 0, len(a) - 1\n    return high\n"),
        ("def f(a, b):\n    def g(c):\n        return a\n    return g\n",
         "def f(a, b):\n    def g(c):\n        return b\n    return g\n"),
        ("def f(a, b):\n    c = a.get(b)\n    return c\n", "def f(a, b):\n    c = b\n    return c\n"),
        ("def f(a):\n    if a[0] > 1 or not a:\n        return 0\n",
         "def f(a):\n    if not a or a[0] > 1:\n        return 0\n"),
        ("def f(a):\n    return reduce(op.and_, a)\n", "def f(a):\n    return reduce(op.or_, a)\n"),
        ("def f(a, b):\n    c = min(a, 1)\n    d = min(b, 2)\n    return c + d\n",
         "def f(a, b):\n    c = max(a, 1)\n    d = max(b, 2)\n    return c + d\n"),
        ("def f(n):\n    if n % 3 == 0 and n % k == 0:\n        return n % 5\n",
         "def f(n):\n    if n % 3 == 0 and n % 5 == 0:\n        return n % 5\n"),
        ("class A:\n    def f(self, a):\n        def g(b):\n            return self.g(b - 1)\n        return g(a)\n",
         "class A:\n    def f(self, a):\n        def g(b):\n            return g(b - 1)\n        return g(a)\n"),
    ],
)  # fmt: skip
def test_the_fix_is_among_the_candidates_and_leaves_the_rest_as_it_was(before: str, after: str) -> None:
    assert after in results(before)


@pytest.mark.slow
def test_pairs_come_by_the_product_of_their_priorities_and_never_overlap() -> None:
    source = "def f(a, b):\n    c = a - b\n    return c * 3\n"
    singles = everything(source)
    found = list(itertools.islice(generate_pairs(singles, 1000), 3000))
    priorities = [each.priority for each in found]
    assert all(first >= second for first, second in itertools.pairwise(priorities))
    assert [each.rank for each in found] == list(range(1000, 1000 + len(found)))
    for each in found:
        later, earlier = each.parts
        assert earlier.change.end <= later.change.start
    assert "def f(a, b):\n    c = a + b\n    return c * 2\n" in {patched(source, each) for each in found}


def patched(text: str, candidate: Candidate) -> str:
    for part in candidate.parts:
        text = text[: part.change.start] + part.change.text + text[part.change.end :]
    return text


def test_arithmetic_that_does_nothing_is_not_tried() -> None:
    assert "def f(n):\n    return n - 0\n" not in results("def f(n):\n    return n - 1\n")


def test_nothing_is_calculated_with_an_answer_of_yes_or_no() -> None:
    text = "def f(a, b):\n    if not a.is_type(b):\n        return a.total(b)\n"
    made = results(text)
    assert text.replace("a.total(b)", "a.total(b) + b") in made
    assert not [each for each in made if "is_type(b) %" in each or "is_type(b) +" in each]


def test_an_object_does_not_stand_for_a_number_of_its_own_method() -> None:
    made = results("class A:\n    def f(self, n):\n        return g(None, len(n) == 1)\n")
    assert "class A:\n    def f(self, n):\n        return g(self, len(n) == 1)\n" in made
    assert "class A:\n    def f(self, n):\n        return g(None, len(n) == self)\n" not in made


def test_lines_that_only_failing_tests_run_come_first() -> None:
    source = Source("a.py", "def f(a):\n    b = a\n    if a:\n        b = 2\n    return b\n")
    tests = [test(0, "failed", {2, 3, 4, 5}), test(1, "passed", {2, 3, 5}), test(2, "passed", {2, 3, 5})]
    suspects = rank_statements({"a.py": source}, tests[:1], Spectrum(tests=tests, imported={}, complete=True))
    assert [s.line for s in suspects] == [4, 2, 3, 5]
    assert suspects[0].score == 1.0
    assert (suspects[1].failing, suspects[1].passing) == (1, 2)


def test_failing_tests_that_run_the_same_lines_are_searched_together() -> None:
    tests = [test(0, "failed", {1, 2, 3}), test(1, "failed", {1, 2, 3, 4}), test(2, "failed", {9})]
    assert [[t.index for t in group] for group in group_by_fault(tests)] == [[2], [0, 1]]


def test_failures_tell_what_is_missing() -> None:
    failed = Test(
        index=0,
        id="t",
        file="t.py",
        standing="failed",
        error="AttributeError",
        message="'C' object has no attribute 'nme'",
    )
    assert extract_hints([failed]).missing_attributes == frozenset({"nme"})
    assert "AttributeError" in extract_hints([failed]).errors


def test_old_text_grows_until_it_stands_at_one_place() -> None:
    before = "def f():\n    x = 1\n    return x\n\n\ndef g():\n    x = 1\n    return x\n"
    place = before.rindex("1")
    after = before[:place] + "2" + before[place + 1 :]
    old, new = extract_unique_lines(before, after)
    assert before.count(old) == 1
    assert before.replace(old, new) == after


@pytest.mark.parametrize("place", [0, 5, 12])
def test_lines_that_are_only_added_or_removed_have_a_unique_pair_too(place: int) -> None:
    lines = [f"line {n}\n" for n in range(12)]
    shorter = "".join(lines)
    longer = "".join([*lines[:place], "new\n", *lines[place:]])
    for before, after in ((shorter, longer), (longer, shorter)):
        old, new = extract_unique_lines(before, after)
        assert before.count(old) == 1
        assert before.replace(old, new) == after


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("test_a.py", True),
        ("pkg/a_test.py", True),
        ("tests/helper.py", True),
        ("conftest.py", True),
        ("tests.py", True),
        ("pkg/testing.py", True),
        ("pkg/_testing.py", True),
        ("pkg/test_utils.py", True),
        ("pkg/testcase.py", True),
        ("attest.py", False),
        ("pkg/hypothesis_testing.py", False),
        ("pkg/testimonials.py", False),
        ("pkg/contest.py", False),
        ("testimony/a.py", False),
    ],
)
def test_files_of_tests_are_known_by_their_place_and_name(path: str, expected: bool) -> None:
    assert is_test_file(path) is expected


@pytest.mark.parametrize(
    "target",
    [
        "tests/test_a.py::T::test_x",
        "./tests/test_a.py",
        "tests",
        "tests/",
        "tests.test_a.T",
        "tests.test_a.T.test_x",
    ],
)
def test_targets_are_understood_in_every_spelling(target: str) -> None:
    one = Test(index=0, id="tests/test_a.py::T::test_x[1/2]", file="tests/test_a.py", standing="failed")
    other = Test(index=1, id="tests2/test_a.py::T::test_y", file="tests2/test_a.py", standing="failed")
    assert select_by_targets([one, other], [target]) == [one]
