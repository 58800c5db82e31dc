"""Twenty small programs with one bug each, and tests that show it.

Written for this benchmark, and fixed: a program is never exchanged because a model or the engine does not mend it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """One program: `name`.py with `code`, and the test functions that import from it."""

    name: str
    code: str
    tests: str


BUGS: tuple[Bug, ...] = (
    Bug(
        name="average",
        code="def average(values):\n    return sum(values) / (len(values) - 1)\n",
        tests="def test_average():\n    assert average([2, 4, 6]) == 4\n    assert average([5]) == 5\n",
    ),
    Bug(
        name="leap",
        code="def is_leap(year):\n    return year % 4 == 0 and year % 100 != 0\n",
        tests="def test_is_leap():\n    assert is_leap(2024)\n    assert not is_leap(1900)\n    assert is_leap(2000)\n",
    ),
    Bug(
        name="vowels",
        code=(
            "def count_vowels(text):\n    count = 0\n    for letter in text:\n"
            '        if letter in "aeiou":\n            count += 1\n    return count\n'
        ),
        tests=(
            'def test_count_vowels():\n    assert count_vowels("Apple pie") == 4\n'
            '    assert count_vowels("xyz") == 0\n'
        ),
    ),
    Bug(
        name="clamp",
        code="def clamp(value, low, high):\n    return min(low, max(value, high))\n",
        tests=(
            "def test_clamp():\n    assert clamp(5, 0, 10) == 5\n    assert clamp(-1, 0, 10) == 0\n"
            "    assert clamp(11, 0, 10) == 10\n"
        ),
    ),
    Bug(
        name="fibonacci",
        code=(
            "def fibonacci(n):\n    a, b = 0, 1\n    for _ in range(n + 1):\n        a, b = b, a + b\n    return a\n"
        ),
        tests="def test_fibonacci():\n    assert [fibonacci(n) for n in range(6)] == [0, 1, 1, 2, 3, 5]\n",
    ),
    Bug(
        name="words",
        code='def count_words(text):\n    return len(text.split(" "))\n',
        tests=(
            'def test_count_words():\n    assert count_words("one  two") == 2\n    assert count_words("") == 0\n'
            '    assert count_words("a\\nb") == 2\n'
        ),
    ),
    Bug(
        name="stack",
        code=(
            "class Stack:\n    def __init__(self):\n        self.items = []\n\n    def push(self, item):\n"
            "        self.items.append(item)\n\n    def pop(self):\n        return self.items.pop(0)\n"
        ),
        tests=(
            "def test_stack():\n    s = Stack()\n    s.push(1)\n"
            "    s.push(2)\n    assert s.pop() == 2\n    assert s.pop() == 1\n"
        ),
    ),
    Bug(
        name="temperature",
        code="def to_fahrenheit(celsius):\n    return celsius * 5 / 9 + 32\n",
        tests="def test_to_fahrenheit():\n    assert to_fahrenheit(100) == 212\n    assert to_fahrenheit(0) == 32\n",
    ),
    Bug(
        name="unique",
        code="def unique(items):\n    return list(set(items))\n",
        tests=(
            "def test_unique():\n    assert unique([30, 10, 30, 20, 10]) == [30, 10, 20]\n"
            "    assert unique([]) == []\n"
        ),
    ),
    Bug(
        name="title",
        code='def title(text):\n    return " ".join(word.upper() for word in text.split())\n',
        tests=(
            'def test_title():\n    assert title("hello big world") == "Hello Big World"\n'
            '    assert title("") == ""\n'
        ),
    ),
    Bug(
        name="merge",
        code=(
            "def merge(a, b):\n    out = []\n    while a and b:\n        if a[0] < b[0]:\n"
            "            out.append(a.pop(0))\n        else:\n            out.append(b.pop(0))\n    return out\n"
        ),
        tests="def test_merge():\n    assert merge([1, 4], [2, 3]) == [1, 2, 3, 4]\n    assert merge([], [1]) == [1]\n",
    ),
    Bug(
        name="prices",
        code="def total(prices, discount=0):\n    return sum(prices) * discount\n",
        tests="def test_total():\n    assert total([10, 20]) == 30\n    assert total([10, 20], discount=0.5) == 15\n",
    ),
    Bug(
        name="palindrome",
        code="def is_palindrome(text):\n    return text == text[::-1]\n",
        tests=(
            'def test_is_palindrome():\n    assert is_palindrome("Anna")\n'
            '    assert is_palindrome("nurses run")\n    assert not is_palindrome("ab")\n'
        ),
    ),
    Bug(
        name="chunks",
        code="def chunks(items, size):\n    return [items[i:i + size] for i in range(0, len(items) - size, size)]\n",
        tests=(
            "def test_chunks():\n    assert chunks([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]\n"
            "    assert chunks([], 2) == []\n"
        ),
    ),
    Bug(
        name="grades",
        code=(
            'def grade(points):\n    if points > 90:\n        return "A"\n    if points > 80:\n        return "B"\n'
            '    return "C"\n'
        ),
        tests=(
            'def test_grade():\n    assert grade(90) == "A"\n    assert grade(80) == "B"\n    assert grade(79) == "C"\n'
        ),
    ),
    Bug(
        name="invert",
        code="def invert(mapping):\n    return {value: key for key, value in mapping}\n",
        tests='def test_invert():\n    assert invert({"a": 1, "b": 2}) == {1: "a", 2: "b"}\n',
    ),
    Bug(
        name="account",
        code=(
            "class Account:\n    def __init__(self, balance=0):\n        self.balance = balance\n\n"
            "    def withdraw(self, amount):\n        self.balance -= amount\n        return self.balance\n"
        ),
        tests=(
            "import pytest\n\n\ndef test_withdraw():\n    assert Account(10).withdraw(4) == 6\n\n\n"
            "def test_overdraft():\n    with pytest.raises(ValueError):\n        Account(10).withdraw(11)\n"
        ),
    ),
    Bug(
        name="flatten",
        code=(
            "def flatten(items):\n    flat = []\n    for item in items:\n        if isinstance(item, list):\n"
            "            flat.append(flatten(item))\n        else:\n            flat.append(item)\n    return flat\n"
        ),
        tests="def test_flatten():\n    assert flatten([1, [2, [3, 4]], 5]) == [1, 2, 3, 4, 5]\n",
    ),
    Bug(
        name="initials",
        code='def initials(name):\n    return "".join(part[0] for part in name.split())\n',
        tests=(
            'def test_initials():\n    assert initials("ada lovelace") == "A.L."\n'
            '    assert initials("Bo") == "B."\n'
        ),
    ),
    Bug(
        name="search",
        code=(
            "def find(items, wanted):\n    low, high = 0, len(items) - 1\n    while low < high:\n"
            "        middle = (low + high) // 2\n        if items[middle] == wanted:\n            return middle\n"
            "        if items[middle] < wanted:\n            low = middle + 1\n"
            "        else:\n            high = middle - 1\n"
            "    return -1\n"
        ),
        tests=(
            "def test_find():\n    assert find([1, 3, 5, 7], 7) == 3\n    assert find([1, 3, 5, 7], 1) == 0\n"
            "    assert find([], 1) == -1\n    assert find([4], 4) == 0\n"
        ),
    ),
)
