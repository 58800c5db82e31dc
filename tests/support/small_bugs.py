"""Small programs with one wrong line each, and tests that fail because of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug:
    """A small program with one wrong line, and tests that fail because of it."""

    name: str
    code: str
    old: str
    new: str
    tests: str

    def write(self, root: Path) -> None:
        """Write the program and its tests."""
        root.mkdir(parents=True, exist_ok=True)
        (root / f"{self.name}.py").write_text(self.code)
        (root / f"test_{self.name}.py").write_text(f"from {self.name} import *\n\n{self.tests}")

    @property
    def fixed_code(self) -> str:
        """The program as it should be."""
        return self.code.replace(self.old, self.new)


def _parse_bug(text: str) -> Bug:
    """Parse a program in which a line "-" precedes the wrong lines and "+" the right ones, and checks follow "?"."""
    lines = text.strip("\n").splitlines()
    gone = [line[1:] for line in lines if line.startswith("-")]
    come = [line[1:] for line in lines if line.startswith("+")]
    code = [line[1:] for line in lines if line.startswith((" ", "-"))]
    checks = [line[1:].strip() for line in lines if line.startswith("?")]
    name = lines[0].removeprefix("= ")
    tests = "".join(f"def test_{number}():\n    assert {check}\n\n" for number, check in enumerate(checks, 1))
    return Bug(
        name=name,
        code="\n".join(code) + "\n",
        old="\n".join(gone) + "\n",
        new="\n".join(come) + "\n",
        tests=tests,
    )


BUGS: Sequence[Bug] = tuple(map(_parse_bug, """
= totals
 def total(prices):
     result = 0
     for price in prices:
-        result = price
+        result += price
     return result
? total([1, 2]) == 3
? total([]) == 0

= leap
 def is_leap(year):
-    return year % 4 == 0 and year % 100 != 0
+    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
? is_leap(2000)
? not is_leap(1900)
? is_leap(2024)

= search
 def find(items, wanted):
     low, high = 0, len(items)
     while low < high:
         middle = (low + high) // 2
-        if items[middle] <= wanted:
+        if items[middle] < wanted:
             low = middle + 1
         else:
             high = middle
     return low
? find([1, 3, 5], 0) == 0
? find([1, 3, 5], 3) == 1

= words
 def count(text):
     found = {}
     for word in text.split():
-        found[word] = found.get(word, 1) + 1
+        found[word] = found.get(word, 0) + 1
     return found
? count('a b a') == {'a': 2, 'b': 1}

= clamp
 def clamp(value, low, high):
-    return min(low, max(value, high))
+    return max(low, min(value, high))
? clamp(5, 0, 3) == 3
? clamp(-1, 0, 3) == 0

= gcd
 def gcd(a, b):
     while b:
-        a, b = b, a // b if b else 0
+        a, b = b, a % b
     return a
? gcd(12, 8) == 4
? gcd(7, 3) == 1

= stack
 def is_balanced(text):
     depth = 0
     for each in text:
-        depth += {'(': 1, ')': -1}.get(each, 0)
+        depth += {'(': 1, ')': -1}.get(each, 0)
+        if depth < 0:
+            return False
     return depth == 0
? is_balanced('(a)')
? not is_balanced(')(')

= median
 def median(values):
     ordered = sorted(values)
     middle = len(ordered) // 2
     if len(ordered) % 2:
         return ordered[middle]
-    return (ordered[middle] + ordered[middle + 1]) / 2
+    return (ordered[middle - 1] + ordered[middle]) / 2
? median([3, 1, 2]) == 2
? median([4, 1]) == 2.5

= slug
 def slug(title):
-    return title.strip().replace(' ', '_').lower()
+    return title.strip().replace(' ', '-').lower()
? slug(' A B ') == 'a-b'

= chunks
 def chunks(items, size):
-    return [items[at:at + size] for at in range(0, len(items) - 1, size)]
+    return [items[at:at + size] for at in range(0, len(items), size)]
? chunks([1, 2, 3], 2) == [[1, 2], [3]]
? chunks([1], 1) == [[1]]
""".strip().split("\n\n")))  # fmt: skip
"""Each is mended by one edit."""
