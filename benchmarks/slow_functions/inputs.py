"""Arguments of the functions in `functions.txt`: large ones to time, small ones to compare."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

_DRAW = random.Random(3)
_NUMBERS = [_DRAW.randrange(2000) for _ in range(1500)]
_WORDS = [f"w{_DRAW.randrange(300)}" for _ in range(1200)]

LARGE: Mapping[str, tuple[Any, ...]] = {
    "dedupe": (_NUMBERS,),
    "common": (_NUMBERS, _NUMBERS[::-1]),
    "missing": (_NUMBERS, _NUMBERS[500:]),
    "word_counts": (_WORDS,),
    "most_common": (_WORDS,),
    "group_by": ([(word, place) for place, word in enumerate(_WORDS)],),
    "join_users": ([(n, n % 400) for n in range(600)], [(n, f"n{n}") for n in range(500)]),
    "has_pair": (_NUMBERS[:700], 5001),
    "fib": (20,),
    "count_paths": (8, 8),
    "lcs": ("abcbdabx", "bdcabay"),
    "render": ([[1, 2, 3, 4] * 20] * 100,),
    "reverse_text": ("abcdef" * 600,),
    "bfs": ({n: [(n * 7 + 1) % 1200, (n * 3 + 2) % 1200] for n in range(1200)}, 0),
    "merge_intervals": ([(n, n + _DRAW.randrange(3)) for n in _NUMBERS[:700]],),
    "smallest": (_NUMBERS * 3, 3),
    "running_average": (_NUMBERS,),
    "window_sums": (_NUMBERS, 100),
    "is_prime": (100_003,),
    "divisors": (60_000,),
    "flatten": ([[1, 2, 3]] * 800,),
    "extract": ([f"ab={n}" for n in range(1500)],),
    "normalise": (_NUMBERS[:500],),
    "distances": ([(n, n * 2) for n in range(120)],),
    "any_negative": ([-1, *_NUMBERS * 5],),
    "rank": (list(dict.fromkeys(_NUMBERS))[:300],),
    "top_scores": (_NUMBERS, 200),
    "transpose": ([[1] * 100] * 100,),
    "matmul": ([[1] * 30] * 30, [[2] * 30] * 30),
    "anagrams": (["".join(_DRAW.sample("abcd", 3)) for _ in range(120)],),
    "index_of": (_WORDS,),
    "remove_stopwords": (" ".join(_WORDS), [f"w{n}" for n in range(100)]),
    "strip_comments": ("\n".join(f"#c{n}" if n % 3 else "x" for n in range(600)),),
    "parse_levels": (["ERROR|a|b", "x|y|z"] * 1500,),
    "clone_all": ([{"a": [1, 2]}] * 200,),
    "lookup": ({n: n for n in range(500)}, _NUMBERS),
    "bubble": (_NUMBERS[:200],),
    "max_subarray": (_NUMBERS[:150],),
    "power": (3, 20_000, 1_000_007),
    "gcd": (60_000, 48_000),
    "collatz_longest": (2000,),
    "find_user": ([{"id": n} for n in range(300)], list(range(300))),
    "diff_lines": ([f"l{n}" for n in range(900)], [f"l{n * 2}" for n in range(900)]),
    "unique_sorted": (_NUMBERS[:600],),
}
"""Arguments by which a function takes some milliseconds."""


def shrink(value: Any) -> Any:
    """Return the beginning of an argument, near which inputs to compare are drawn."""
    if isinstance(value, list | tuple):
        return type(value)(shrink(each) for each in value[:6])
    if isinstance(value, dict):
        return {key: shrink(value[key]) for key in list(value)[:4]}
    if isinstance(value, int) and value > 1000:
        return value % 89 + 2
    return value[:20] if isinstance(value, str) else value
