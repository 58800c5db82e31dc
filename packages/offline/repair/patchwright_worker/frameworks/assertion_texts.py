"""Full texts on both sides of a failed comparison, which messages shorten."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import types
    from collections.abc import Iterator

# Maximum number of reported texts, characters of each, and values that are searched.
MOST_TEXTS, LONGEST, MOST_VALUES = 4, 2000, 2000
_UNITTEST = os.path.join("unittest", "case.py")


def find_differing_texts(found: Any, wanted: Any) -> list[list[str]]:
    """Return differing pairs of texts at the same place of two values of built-in types."""
    pairs = []
    for one, other in _iter_text_pairs(found, wanted):
        if one != other and max(len(one), len(other)) <= LONGEST:
            pairs.append([one, other])
            if len(pairs) == MOST_TEXTS:
                break
    return pairs


def _iter_text_pairs(found: Any, wanted: Any) -> Iterator[tuple[str, str]]:
    waiting, seen = [(found, wanted)], 0
    while waiting and seen < MOST_VALUES:
        one, other = waiting.pop(0)
        seen += 1
        if isinstance(one, str) and isinstance(other, str):
            yield str.__str__(one), str.__str__(other)  # runs no code of a str subclass
        elif type(one) is type(other) and type(one) in (list, tuple):
            waiting.extend(list(zip(one, other))[:MOST_VALUES])
        elif type(one) is dict and type(other) is dict:
            keys = [key for key in list(one)[:MOST_VALUES] if type(key) in (str, int) and key in other]
            waiting.extend([(one[key], other[key]) for key in keys])


def find_unittest_texts(trace: types.TracebackType | None) -> list[list[str]]:
    """Return the differing texts passed to `assertEqual` and similar methods, from the failure's traceback."""
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_filename.endswith(_UNITTEST) and frame.f_code.co_name.startswith("assert"):
            values = frame.f_locals
            if "first" in values and "second" in values:
                return find_differing_texts(values["first"], values["second"])
        trace = trace.tb_next
    return []
