"""What somebody who looked at the failure says: where the fault may be, and of which kind it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

# How much more suspicious a place is that the hint names (a file; a function), and a kind of change likelier. A hint
# may be wrong: what it does not name is still tried, only later.
FILE, FUNCTION, KIND = 2.0, 3.0, 4.0


@dataclass(frozen=True, slots=True)
class Hint:
    """Words such as "cart.py", "Cart.total", "src/cart.py::total", "off by one" or "comparison"; "" says nothing."""

    said: str = ""

    def place(self, path: str, function: str) -> float:
        """What a place's suspiciousness is multiplied with."""
        found = 1.0
        pure = PurePosixPath(path)
        if any(word in (path, pure.name, pure.stem) or path.endswith("/" + word) for word in self._words):
            found *= FILE
        parts = function.split(".")
        if function and any(word == function or word == parts[-1] for word in self._words):
            found *= FUNCTION
        return found

    def kind(self, template: str) -> float:
        """The same for a template's prior: the first word of its name that says something is in the hint."""
        first = next((part for part in template.split("_") if len(part) > 2), template)
        said = {_stem(word) for word in re.findall(r"[a-z]+", self.said.lower())}
        return KIND if _stem(first) in said else 1.0

    @property
    def _words(self) -> Sequence[str]:
        return [word for word in re.split(r"[\s,;()`'\"]+|::", self.said) if word]


NO_HINT = Hint()


def _stem(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word
