"""Hint of a user or model who examined the failure: likely places and kinds of the fault.

A few words name places and kinds. More describe the fault, as a report does: then places are weighted by
their relevance to the text, which `patchwright localize` computes from words, names and history.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

from agent.memory.records import PAST_REPAIRS
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

# Factors on the suspiciousness of a place that the hint names (a file; a function), and on the likelihood of
# a kind of change. A hint may be wrong: other places are still tried, only later.
FILE, FUNCTION, KIND = 2.0, 3.0, 4.0
# Share by which a kind of change is likelier for each time that it mended something in this repository, and times that
# count: faults of one project are alike, and another kind is only tried later.
PAST, MOST_PAST = 0.5, 4

# Number of words from which a hint is also read as a description, and from which it is nothing else: among so
# many, names of functions and kinds occur by chance.
DESCRIPTION, PROSE = 8, 25
# Bonus of the best file of a description, and of its best function, as a share of a place's suspiciousness:
# files are right more often than functions, and tests have shown where the fault can be.
SPOKEN_FILE, SPOKEN_FUNCTION = 0.5, 0.5
# Number of places of a description that count.
SPOKEN_FILES, SPOKEN_FUNCTIONS = 10, 20


@dataclass(frozen=True, slots=True)
class Hint:
    """Words such as "cart.py", "Cart.total", "src/cart.py::total", "off by one" or "comparison"; "" is no hint.

    files, functions: relevance to a description, from 0 to 1, of each path, and of each path with qualified
    name
    past: how often changes of a template mended something in this repository
    """

    text: str = ""
    files: Mapping[str, float] = field(default_factory=dict)
    functions: Mapping[tuple[str, str], float] = field(default_factory=dict)
    past: Mapping[str, int] = field(default_factory=dict)

    @property
    def weighs_templates(self) -> bool:
        """Whether anything is known of kinds of changes."""
        return bool(self.text or self.past)

    def weigh_place(self, path: str, function: str) -> float:
        """Return the factor on a place's suspiciousness."""
        return max(self._weigh_by_name(path, function), self._weigh_by_description(path, function))

    def _weigh_by_description(self, path: str, function: str) -> float:
        inside = self.functions.get((path, function), 0.0)
        return 1.0 + SPOKEN_FILE * self.files.get(path, 0.0) + SPOKEN_FUNCTION * inside

    def _weigh_by_name(self, path: str, function: str) -> float:
        found = 1.0
        pure = PurePosixPath(path)
        if any(word in (path, pure.name, pure.stem) or path.endswith("/" + word) for word in self._words):
            found *= FILE
        parts = function.split(".")
        if function and any(word == function or word == parts[-1] for word in self._words):
            found *= FUNCTION
        return found

    def weigh_template(self, template: str) -> float:
        """Return the factor on a template's prior: the first significant word of its name is in the hint, or it mended
        something here before."""
        first = next((part for part in template.split("_") if len(part) > 2), template)
        said = {_stem_word(word) for word in re.findall(r"[a-z]+", self.text.lower())} if self._words else ()
        past = 1.0 + PAST * min(self.past.get(template, 0), MOST_PAST)
        return past * (KIND if _stem_word(first) in said else 1.0)

    @property
    def _words(self) -> Sequence[str]:
        if len(self.text.split()) > PROSE:
            return ()
        return [word for word in re.split(r"[\s,;()`'\"]+|::", self.text) if word]


NO_HINT = Hint()

Key = TypeVar("Key")


def parse_hint(at: Workspace, said: str) -> Hint:
    """Parse a hint, and locate places in the workspace if it is a description. What mended it before counts, too."""
    past = at.facts[PAST_REPAIRS]() if PAST_REPAIRS in at.facts else {}
    if len(said.split()) < DESCRIPTION:
        return Hint(said, past=past)
    from tools.code.code_tool import query_index
    from tools.code.localization import localize_text

    found = query_index(
        at, lambda index: localize_text(index, said, files=SPOKEN_FILES, functions=SPOKEN_FUNCTIONS)
    )
    return Hint(
        said,
        files=_normalize_scores({each.path: each.score for each in found.files}),
        functions=_normalize_scores({(each.path, each.symbol.name): each.score for each in found.functions}),
        past=past,
    )


def _normalize_scores(scores: Mapping[Key, float]) -> dict[Key, float]:
    most = max(scores.values(), default=0.0) or 1.0
    return {key: score / most for key, score in scores.items()}


def _stem_word(word: str) -> str:
    return word.rstrip("s") if len(word) > 3 else word
