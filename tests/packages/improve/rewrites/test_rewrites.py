"""Each rewrite of the table makes a known slow function do less, and answer the same."""

from __future__ import annotations

import copy
import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from packages.improve.optimize.honesty import find_deceit
from packages.improve.rewrites.rewrite import Rewrite, TextEdit, apply_rewrites
from packages.improve.rewrites.rewrite_table import TABLE, list_rewrites
from tests.packages.improve.rewrites.slow_kinds import SLOW

QUADRATIC = (
    "set membership",
    "set beside list",
    "set beside list that is not empty",
    "count once",
    "index once",
    "bisect",
    "heap",
    "heap of its own",
    "insort",
    "set of values",
    "places beside list",
    "running prefix",
)
"""Those whose comparisons of elements grow with the square of the input before, and no more after."""


def load(text: str) -> Callable[..., Any]:
    space: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(text, "candidate", "exec"), space)
    made: Callable[..., Any] = space["f"]
    return made


def find(kind: str) -> tuple[str, str]:
    """Return a slow function and its rewrite of the kind. kind: as the rewrite's, or one with words behind it"""
    text = SLOW[kind][0]
    made = [each for each in list_rewrites(text, ["f"]) if kind.startswith(each.kind)]
    found = apply_rewrites(text, made)
    assert found is not None
    assert found != text
    return text, found


class Counted(int):
    """A number that counts how often it is compared or hashed."""

    count = 0

    def _count(self) -> None:
        Counted.count += 1

    def __eq__(self, other: object) -> bool:
        self._count()
        return int(self) == other

    def __lt__(self, other: int) -> bool:
        self._count()
        return int(self) < int(other)

    def __add__(self, other: int) -> Counted:
        return Counted(int(self) + int(other))

    __radd__ = __add__

    def __hash__(self) -> int:
        self._count()
        return hash(int(self))


def count_lines(function: Callable[..., Any], *arguments: Any) -> int:
    """Return how many lines of Python a call runs."""
    count = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event in ("line", "call")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("kind", SLOW)
def test_a_rewrite_answers_the_same(kind: str) -> None:
    text, made = find(kind)
    old, new = load(text), load(made)
    draw = random.Random(0)
    for _ in range(150):
        given = SLOW[kind][1](draw)
        mine, theirs = copy.deepcopy(given), copy.deepcopy(given)
        first, second = old(*mine), new(*theirs)
        assert repr(first) == repr(second)
        assert mine == theirs, "the arguments are left in the same state"


@pytest.mark.parametrize("kind", SLOW)
def test_a_rewrite_is_no_deceit(kind: str) -> None:
    text, made = find(kind)
    assert not find_deceit(text, made, ["f"])


@pytest.mark.parametrize("kind", QUADRATIC)
def test_a_rewrite_compares_fewer_elements(kind: str) -> None:
    counts = []
    for text in find(kind):
        sample = random.Random(1).sample(range(1000), 120)
        given = [list(map(Counted, sample)) for _ in SLOW[kind][1](random.Random(0))]
        Counted.count = 0
        load(text)(*given)
        counts.append(Counted.count)
    assert counts[1] * 1.3 < counts[0]
    assert kind in ("heap", "heap of its own", "insort") or counts[1] < 120 * 12


@pytest.mark.parametrize(("kind", "given"), [("cache", 14), ("early exit", [9] * 50), ("counter", [1] * 50)])
def test_a_rewrite_runs_fewer_lines(kind: str, given: Any) -> None:
    text, made = find(kind)
    assert count_lines(load(made), given) * 2 < count_lines(load(text), given)


@pytest.mark.parametrize(
    ("kind", "now"),
    [
        ("deque", "queue.popleft()"),
        ("grow in place", "out.append(x)"),
        ("grow in place: set", "s.add(x)"),
        ("grow in place: dict", "d[x] = x + 1"),
        ("grow in place: list", "out.extend([x, x])"),
        ("join bytes", "b''.join(s_parts)"),
        ("join before", "''.join(reversed(s_parts))"),
        ("join tuple", "tuple(s_parts)"),
        ("divide to root", "while d * d <= n:"),
        ("divide to root by range", "for d in range(2, math.isqrt(max(n, 0)) + 1):"),
        ("divide to root by all", "all(n % d for d in range(2, math.isqrt(max(n, 0)) + 1))"),
        ("flatten", "itertools.chain.from_iterable"),
        ("heap of its own", "x = heapq.heappop(xs)"),
        (
            "prefix sums",
            "(xs_sums[min(i + k, len(xs))] - xs_sums[min(i, len(xs))] if 0 <= i <= i + k else sum(",
        ),
        ("share", "if x_split[0] == 'a'"),
        ("remove in one pass", "xs[:] = [x for x in xs if not (x < 3)]"),
        ("index by key", "in ys_by_key.get(x, ()) if"),
        ("index by key", "for y in ys_by_y.get(x, ()):"),
        ("append and reverse", "out.reverse()"),
        ("join", "''.join(s_parts)"),
        ("accumulate", "itertools.accumulate(xs)"),
        ("min for sorted", "min(xs), max(xs)"),
        ("n smallest", "heapq.nsmallest(3, xs)"),
        ("hoist", "ys_max = max(ys, default=None)"),
        ("hoist a comprehension", "    for x in xs:\n        table = table_2\n"),
        ("hoist the least of some", "min((abs(y) for y in ys), default=None)"),
        ("inner cache: in a loop", "    @functools.lru_cache(maxsize=None, typed=True)\n    def weigh(x):"),
        ("remember by value", "out.append(weigh_of(x))"),
        ("bisect by library", "low = high = bisect.bisect_right(xs, y, low, high)"),
        ("product", "itertools.product(*xss)"),
        ("sink", "    if xs:\n        text = ','.join(out)\n    return"),
        ("scan without copy", "for j in range(i + 1, len(xs)):\n            y = xs[j]\n"),
        ("compare in place", "text.startswith('ab', i)"),
        ("first", "return next(x for x in xs if x > 0)"),
        ("split once", "x.split(',', 1)[0], x.rsplit(',', 1)[-1], x.split()[:1]"),
        ("compiled pattern with a flag", "re.compile('A+$', re.IGNORECASE)"),
    ],
)
def test_a_rewrite_uses_the_quicker_operation(kind: str, now: str) -> None:
    assert now in find(kind)[1]


LEFT_ALONE = {
    "the list changes in the loop": (
        "def f(xs, ys):\n    for x in xs:\n        if x in ys:\n            ys.append(x)\n    return ys\n",
        "set membership",
    ),
    "an unknown function may change it": (
        "def f(xs, ys):\n    for x in xs:\n        if x in ys:\n            g(ys)\n", "set membership"
    ),
    "the text is read in the loop": (
        "def f(xs):\n    s = ''\n    for x in xs:\n        s += x\n        g(len(s))\n    return s\n", "join"
    ),
    "the function prints": (
        "def f(n):\n    print(n)\n    return n if n < 2 else f(n - 1) + f(n - 2)\n", "cache"
    ),
    "the queue is cut": (
        "def f(n):\n    q = [n]\n    while q:\n        n = q.pop(0)\n        q = q[1:]\n    return n\n", "deque"
    ),
    "the rows change their key in the loop": (
        "def f(xs, ys):\n    for x in xs:\n        for y in ys:\n            if y['k'] == x:\n"
        "                y['k'] = 0\n",
        "index by key",
    ),
    "the row is read behind its loop": (
        "def f(xs, ys):\n    for x in xs:\n        for y in ys:\n            if y == x:\n"
        "                g(y)\n        g(y)\n",
        "index by key",
    ),
    "the rows change in the loop": (
        "def f(xs, ys):\n    for x in xs:\n        ys.append(x)\n        g([y for y in ys if y == x])\n", "index by key"
    ),
    "each divisor is wanted": (
        "def f(n):\n    return [d for d in range(2, n) if n % d == 0], sum(n % d == 0 for d in range(2, n))\n",
        "divide to root",
    ),
    "a number that is no divisor is wanted": (
        "def f(n):\n    return any(n % d for d in range(2, n))\n", "divide to root"
    ),
    "the divisor is read behind its loop": (
        "def f(n):\n    for d in range(2, n):\n        if n % d == 0:\n            break\n    return d\n",
        "divide to root",
    ),
    "what the inner function reads changes": (
        "def f(xs):\n    def h(i):\n        return 1 if i < 1 else xs[0] + h(i - 1) + h(i - 2)\n"
        "    xs[0] = h(3)\n    return h(3)\n",
        "inner cache",
    ),
    "another name holds the container": (
        "def f(xs):\n    s = set()\n    t = s\n    for x in xs:\n        s = s | {x}\n    return s, t\n",
        "grow in place",
    ),
    "the result is kept": (
        "def f(xs):\n    for x in xs:\n        a = x.split()\n        b = x.split()\n        a.append(b)\n", "share"
    ),
    "it is not always evaluated": (
        "def f(xs):\n    for x in xs:\n        if g(x):\n            g(x.split()[0])\n            g(x.split()[1])\n",
        "share",
    ),
    "both ends of the text grow": (
        "def f(xs):\n    s = ''\n    for x in xs:\n        s = x + s\n        s += x\n    return s\n", "join"
    ),
    "the operand is bound in the loop": (
        "def f(xs):\n    for x in xs:\n        y = len(x)\n        g(sorted(y))\n", "hoist"
    ),
    "the list that a comprehension makes is kept": (
        "def f(xs, n):\n    out = []\n    for x in xs:\n        row = [0 for _ in n]\n        out.append(row)\n"
        "    return out\n",
        "hoist",
    ),
    "the helper returns a new list": (
        "def f(xs):\n    def h(x):\n        return [x]\n    return [h(x) for x in xs]\n", "inner cache"
    ),
    "the helper has an effect": (
        "def f(xs):\n    def h(x):\n        print(x)\n        return x\n    return [h(x) for x in xs]\n",
        "inner cache",
    ),
    "what the helper reads changes": (
        "def f(xs):\n    n = []\n    def h(x):\n        return x + len(n)\n    for x in xs:\n        n.append(h(x))\n",
        "inner cache",
    ),
    "the value is read in the loop": (
        "def f(xs):\n    a = 0\n    for x in xs:\n        g(a)\n        a = len(x)\n    return a\n", "sink"
    ),
    "the loop may end before the value": (
        "def f(xs):\n    a = 0\n    for x in xs:\n        if x:\n            break\n        a = str(x)\n    return a\n",
        "sink",
    ),
    "what is missing is caught": (
        "def f(xs):\n    try:\n        return [x for x in xs if x][0]\n    except IndexError:\n        return 0\n",
        "first",
    ),
    "the third is a count of splits": (
        "import re\n\n\ndef f(xs, n):\n    return [re.split(',', x, n) for x in xs]\n", "compiled pattern"
    ),
    "a name of the library has another meaning": (
        "def f(xs):\n    len = g\n    return [x for x in xs if x < len(xs)]\n", "hoist"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", LEFT_ALONE)
def test_what_may_mean_something_else_is_left_alone(case: str) -> None:
    text, kind = LEFT_ALONE[case]
    assert kind not in {each.kind for each in list_rewrites(text, ["f"])}


@pytest.mark.parametrize("kind", ["n smallest by a name", "prefix sums"])
def test_what_a_rewrite_left_for_unusual_values_is_not_rewritten_again(kind: str) -> None:
    again = list_rewrites(find(kind)[1], ["f"])
    assert not any(kind.startswith(each.kind) for each in again)


def test_every_rewrite_of_the_table_is_tried() -> None:
    found = {each.kind for text, _ in SLOW.values() for each in list_rewrites(text, ["f"])}
    assert len(SLOW) >= len(TABLE)
    assert all(any(kind.startswith(each) for each in found) for kind in SLOW)


def test_rewrites_of_the_same_characters_are_not_put_together() -> None:
    one = Rewrite(kind="a", function="f", line=1, edits=(TextEdit(0, 4, "x = 1"),))
    other = Rewrite(kind="b", function="f", line=1, edits=(TextEdit(2, 5, "y"),))
    assert apply_rewrites("a = 1\n", [one, other]) is None


def test_imports_stand_behind_the_docstring_and_the_future() -> None:
    text = '"""Doc."""\n\nfrom __future__ import annotations\n\n\ndef f(xs):\n    return {x: xs.count(x) for x in xs}\n'
    made = apply_rewrites(text, list_rewrites(text, ["f"]))
    assert made is not None
    assert made.startswith('"""Doc."""\n\nfrom __future__ import annotations\nimport collections\n')


def test_imports_stand_behind_a_docstring_with_form_feeds() -> None:
    text = '"""A\x0cB\x0cC\nD."""\n\n\ndef f(xs):\n    return {x: xs.count(x) for x in xs}\n'
    made = apply_rewrites(text, list_rewrites(text, ["f"]))
    assert made is not None
    assert made.startswith('"""A\x0cB\x0cC\nD."""\nimport collections\n')
