"""Functions that are slow in the way that one rewrite of the table mends, with inputs to compare on."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

Draw = Callable[[random.Random], tuple[Any, ...]]


def numbers(draw: random.Random, most: int = 60) -> list[int]:
    return [draw.randint(-20, 20) for _ in range(draw.randint(0, most))]


def words(draw: random.Random) -> list[str]:
    return ["".join(draw.choices("ab,", k=draw.randint(0, 4))) for _ in range(draw.randint(0, 40))]


ONE: Draw = lambda draw: (numbers(draw),)  # noqa: E731
TWO: Draw = lambda draw: (numbers(draw), numbers(draw))  # noqa: E731
TEXTS: Draw = lambda draw: (words(draw),)  # noqa: E731

SLOW: dict[str, tuple[str, Draw]] = {
    "set membership": (
        "def f(xs, ys):\n    out = []\n    for x in xs:\n        if x in ys:\n            out.append(x)\n"
        "    return out\n",
        TWO,
    ),
    "set beside list": (
        "def f(xs):\n    seen = []\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n"
        "    return seen\n",
        ONE,
    ),
    "count once": ("def f(xs):\n    return {x: xs.count(x) for x in xs}\n", ONE),
    "index once": ("def f(xs):\n    return [xs.index(x) for x in xs]\n", ONE),
    "deque": (
        "def f(n):\n    queue = [n]\n    out = []\n    while queue:\n        x = queue.pop(0)\n        out.append(x)\n"
        "        if x > 1:\n            queue.append(x // 2)\n            queue.append(x - x // 2)\n    return out\n",
        lambda draw: (draw.randint(0, 60),),
    ),
    "cache": (
        "def f(n):\n    if n < 2:\n        return n\n    return f(n - 1) + f(n - 2)\n",
        lambda draw: (draw.randint(-2, 14),),
    ),
    "heap": (
        "def f(xs):\n    xs = list(xs)\n    total = 0\n    while len(xs) > 1:\n        xs.sort()\n"
        "        a = xs.pop(0)\n"
        "        b = xs.pop(0)\n        total += a + b\n        xs.append(a + b)\n    return total\n",
        ONE,
    ),
    "insort": (
        "def f(xs):\n    out = []\n    middles = []\n    for x in xs:\n        out.append(x)\n        out.sort()\n"
        "        middles.append(out[len(out) // 2])\n    return middles\n",
        ONE,
    ),
    "bisect": (
        "def f(xs):\n    out = []\n    for x in xs:\n        i = 0\n        while i < len(out) and out[i] < x:\n"
        "            i += 1\n        out.insert(i, x)\n    return out\n",
        ONE,
    ),
    "min for sorted": (
        "def f(xs):\n    return sorted(xs)[0], sorted(xs)[-1]\n", lambda draw: ([*numbers(draw), 1],)
    ),
    "n smallest": ("def f(xs):\n    return sorted(xs)[:3]\n", ONE),
    "accumulate": ("def f(xs):\n    return [sum(xs[:i]) for i in range(len(xs) + 1)]\n", ONE),
    "hoist": (
        "def f(xs, ys):\n    return [x for x in xs if x < max(ys)]\n",
        lambda draw: (numbers(draw), [3, *numbers(draw)]),
    ),
    "grow in place": ("def f(xs):\n    out = []\n    for x in xs:\n        out = out + [x]\n    return out\n", ONE),
    "hoist of the least of what is gone through": (
        "def f(xs):\n    out = []\n    for x in xs:\n        out.append(x - min(xs))\n    return out\n", ONE
    ),
    "append and reverse": (
        "def f(xs):\n    out = []\n    for x in xs:\n        out.insert(0, x)\n    return out\n", ONE
    ),
    "join": (
        "def f(xs):\n    s = ''\n    for x in xs:\n        s += x\n        s = s + ','\n    return s\n", TEXTS
    ),
    "early exit": (
        "def f(xs):\n    found = False\n    for x in xs:\n        if x > 3:\n            found = True\n"
        "    return found\n",
        ONE,
    ),
    "counter": (
        "def f(xs):\n    d = {}\n    for x in xs:\n        d[x] = d.get(x, 0) + 1\n    return d\n", ONE
    ),
    "comprehension": (
        "def f(xs):\n    out = []\n    for x in xs:\n        if x > 0:\n            out.append(x * x)\n"
        "    return out\n",
        ONE,
    ),
    "compiled pattern": (
        "import re\n\n\ndef f(xs):\n    return [bool(re.match('a+', x)) for x in xs]\n", TEXTS
    ),
    "search keys": (
        "def f(xs, ys):\n    d = dict.fromkeys(ys)\n    return [x for x in xs if x in list(d.keys())]\n", TWO
    ),
    "set of constants": (
        "def f(xs):\n    return [x for x in xs if x in [1, 3, 5, 7, 9]]\n", ONE
    ),
    "enumerate": (
        "def f(xs):\n    out = 0\n    for i in range(len(xs)):\n        out += i * xs[i]\n    return out\n", ONE
    ),
    "index by key": (
        "def f(xs, ys):\n    out = []\n    for x in xs:\n"
        "        out.append(sum(y for y in ys if y % 7 == x and y > 0))\n"
        "        for y in ys:\n            if y == x:\n                out.append(y)\n                break\n"
        "        else:\n            out.append(None)\n    return out\n",
        TWO,
    ),
    "set of values": (
        "def f(xs, ys):\n    d = dict(enumerate(ys))\n    return [x for x in xs if x in d.values()]\n", TWO
    ),
    "remove in one pass": (
        "def f(xs, ys):\n    for y in ys:\n        while y in xs:\n            xs.remove(y)\n"
        "    for x in list(xs):\n        if x < 3:\n            xs.remove(x)\n    return xs\n",
        TWO,
    ),
    "divide to root": (
        "def f(n):\n    d = 2\n    while d < n:\n        if n % d == 0:\n            return False\n        d += 1\n"
        "    return n > 1\n",
        lambda draw: (draw.randint(-3, 300),),
    ),
    "divide to root by range": (
        "def f(n):\n    for d in range(2, n):\n        if n % d == 0:\n            return False\n    return n > 1\n",
        lambda draw: (draw.randint(-3, 300),),
    ),
    "divide to root by all": (
        "def f(n):\n    return all(n % d for d in range(2, n // 2 + 1)), any(not n % d for d in range(2, n))\n",
        lambda draw: (draw.randint(-3, 300),),
    ),
    "inner cache": (
        "def f(xs):\n    def least(i, left):\n        if i == len(xs) or left < 0:\n            return left\n"
        "        return min(least(i + 1, left), least(i + 1, left - xs[i]))\n    return least(0, 9)\n",
        lambda draw: (numbers(draw, 9),),
    ),
    "heap of its own": (
        "def f(xs):\n    xs = list(xs)\n    out = []\n    while xs:\n        x = min(xs)\n        xs.remove(x)\n"
        "        out.append(x)\n        if x > 5:\n            xs.append(x - 5)\n    return out\n",
        ONE,
    ),
    "flatten": ("def f(xs):\n    return sum([[x] * 2 for x in xs], [])\n", ONE),
    "prefix sums": (
        "def f(xs, k):\n    return [sum(xs[i:i + k]) for i in range(len(xs))]\n",
        lambda draw: (numbers(draw), draw.randint(-3, 9)),
    ),
    "share": (
        "def f(xs):\n    out = []\n    for x in xs:\n        if x.split(',')[0] == 'a':\n"
        "            out.append(x.split(',')[0] + 'b')\n    return out\n",
        TEXTS,
    ),
    "join bytes": (
        "def f(xs):\n    s = b''\n    for x in xs:\n        s += x.encode()\n    return s\n", TEXTS
    ),
    "join before": ("def f(xs):\n    s = ''\n    for x in xs:\n        s = x + s\n    return s\n", TEXTS),
    "join tuple": ("def f(xs):\n    s = ()\n    for x in xs:\n        s += (x, 1)\n    return s\n", ONE),
    "grow in place: set": (
        "def f(xs):\n    s = set()\n    for x in xs:\n        s = s | {x}\n    return sorted(s)\n", ONE
    ),
    "grow in place: dict": (
        "def f(xs):\n    d = {}\n    for x in xs:\n        d = {**d, x: x + 1}\n    return d\n", ONE
    ),
    "grow in place: list": (
        "def f(xs):\n    out = []\n    for x in xs:\n        out = out + [x, x]\n    return out\n", ONE
    ),
    "set beside list that is not empty": (
        "def f(xs):\n    seen = [1, 2]\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n"
        "    return seen\n",
        ONE,
    ),
    "n smallest by a name": (
        "def f(xs, k):\n    return sorted(xs)[:k]\n", lambda draw: (numbers(draw), draw.randint(-3, 5))
    ),
    "local name": (
        "import math\n\n\ndef f(xs):\n    return [math.floor(x / 2) for x in xs]\n", ONE
    ),
    "tuple set beside list": (
        "def f(xs):\n    seen = []\n    for x in xs:\n        if x not in seen:\n            seen.append(x)\n"
        "    return seen\n",
        lambda draw: ([[each % 3, "x"] for each in numbers(draw)],),
    ),
    "places beside list": (
        "def f(xs):\n    seen, out = [], []\n    known = []\n    for x in xs:\n        if x not in known:\n"
        "            known.append(x)\n        out.append(known.index(x))\n    return seen, out\n",
        ONE,
    ),
    "remove in one pass: those of another list": (
        "def f(xs, ys):\n    for y in ys:\n        if y in xs:\n            xs.remove(y)\n    return xs\n", TWO
    ),
    "inner cache: in a loop": (
        "def f(xs):\n    def weigh(x):\n        total = 0\n        for y in range(abs(x)):\n"
        "            total += y * y\n        return total\n    return [weigh(x) for x in xs]\n",
        ONE,
    ),
    "remember by value": (
        "def weigh(x):\n    return tuple(int(each) for each in str(abs(x)))\n\n\n"
        "def f(xs):\n    out = []\n    for x in xs:\n        out.append(weigh(x))\n    return out\n",
        ONE,
    ),
    "bisect by library": (
        "def f(xs, ys):\n    xs.sort()\n    out = []\n    for y in ys:\n        low, high = 0, len(xs)\n"
        "        while low < high:\n            mid = (low + high) // 2\n            if xs[mid] <= y:\n"
        "                low = mid + 1\n            else:\n                high = mid\n"
        "        out.append((low, high))\n    return out\n",
        TWO,
    ),
    "bisect by library: the first": (
        "def f(xs, y):\n    xs.sort()\n    low = 0\n    high = len(xs)\n    while low < high:\n"
        "        mid = low + (high - low) // 2\n        if xs[mid] < y:\n            low = mid + 1\n        else:\n"
        "            high = mid\n    return low\n",
        lambda draw: (numbers(draw), draw.randint(-20, 20)),
    ),
    "next by bisection": (
        "def f(xs, ys):\n    xs.append(99)\n    return [min(x for x in xs if x > y) for y in ys]\n", TWO
    ),
    "product": (
        "def f(xss):\n    out = [[]]\n    for xs in xss:\n        out = [o + [x] for o in out for x in xs]\n"
        "    return out\n",
        lambda draw: ([numbers(draw, 4) for _ in range(draw.randint(0, 4))],),
    ),
    "running prefix": (
        "def f(xs):\n    out = []\n    for i in range(len(xs)):\n        if xs[i] in xs[:i]:\n            continue\n"
        "        out.append(xs[i])\n    return out\n",
        ONE,
    ),
    "running prefix: a set": (
        "def f(xs, ys):\n    ys = set(ys)\n    out = []\n    for i, x in enumerate(xs):\n"
        "        if set(xs[:i]) <= ys:\n            out.append(x)\n    return out\n",
        TWO,
    ),
    "running prefix: a text": (
        "def f(xs):\n    out = []\n    for i in range(len(xs)):\n        out.append(len(''.join(xs[:i])))\n"
        "    return out\n",
        TEXTS,
    ),
    "sink": (
        "def f(xs):\n    out, text = [], '-'\n    for x in xs:\n        out.append(x)\n        text = ','.join(out)\n"
        "    return text\n",
        TEXTS,
    ),
    "scan without copy": (
        "def f(xs):\n    out = []\n    for i, x in enumerate(xs):\n"
        "        for j, y in enumerate(xs[i + 1:], start=i + 1):\n            if y > x:\n"
        "                out.append((i, j))\n                break\n    return out\n",
        ONE,
    ),
    "scan without copy: items": (
        "def f(xs):\n    out = []\n    for i in range(len(xs)):\n        for y in xs[i:]:\n            if y < 0:\n"
        "                out.append(y)\n                break\n    return out\n",
        ONE,
    ),
    "compare in place": (
        "def f(xs):\n    text = ''.join(xs)\n    return [i for i in range(len(text)) if text[i:].startswith('ab')]\n",
        TEXTS,
    ),
    "first": (
        "def f(xs):\n    xs.append(1)\n    return [x for x in xs if x > 0][0]\n", ONE
    ),
    "split once": (
        "def f(xs):\n    return [(x.split(',')[0], x.split(',')[-1], x.split()[:1]) for x in xs]\n", TEXTS
    ),
    "compiled pattern with a flag": (
        "import re\n\n\ndef f(xs):\n    return [x for x in xs if re.match('A+$', x, re.IGNORECASE)]\n", TEXTS
    ),
    "hoist a comprehension": (
        "def f(xs, ys):\n    out = []\n    for x in xs:\n        table = {y: i for i, y in enumerate(ys)}\n"
        "        out.append(table.get(x))\n    return out\n",
        TWO,
    ),
    "hoist the least of some": (
        "def f(xs, ys):\n    ys.append(1)\n    return [x for x in xs if x < min(abs(y) for y in ys)]\n", TWO
    ),
}  # fmt: skip
