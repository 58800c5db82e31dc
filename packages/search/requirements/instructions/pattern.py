"""A form of a sentence that says what code can check."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from agent.verify.requirement import Kind
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

Checks = Iterator[tuple[Kind, str]]
"""(kind, check) of what a match requires."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A form of a sentence.

    stems: of each group a sentence has to hold one, or the expression, which is slow to compile, is not tried
    is_order: it is none after "not", "may", "if" or the like
    """

    stems: tuple[tuple[str, ...], ...]
    regex: re.Pattern[str]
    read: Callable[[re.Match[str]], Checks]
    is_order: bool = True


def make_pattern(
    stems: tuple[str, ...], text: str, read: Callable[[re.Match[str]], Checks], is_order: bool = True
) -> Pattern:
    """Return a pattern of groups of stems with spaces between, and of an expression that ignores case."""
    return Pattern(
        tuple(tuple(each.split()) for each in stems), compile_lazily(text, re.IGNORECASE), read, is_order
    )
