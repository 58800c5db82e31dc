"""Limits on what code answers: "do not change the behavior", "refactor total", "only for negative numbers"."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from packages.search.requirements.wording import ARTICLES, DEFINED, NAME, NOT
from sandbox.lazy_pattern import compile_lazily

ONLY = "only "
"""Beginning of a check that allows other answers for some inputs."""

_BEHAVIOR = r"behaviou?rs?"
_SAME = r"(?:the\s+same|unchanged|identical|as\s+(?:it\s+is|before))"
_KEPT = compile_lazily(
    rf"\b{NOT}\s+(?:chang\w*|alter\w*|affect\w*|modify\w*)\s+(?:(?:the|its|their|any|existing|current|public|observable|of)\s+)*{_BEHAVIOR}\b"
    rf"|\b(?:no|without(?:\s+any)?|with\s+no)\s+(?:{_BEHAVIOR}|behaviou?ral|functional)\s+changes?\b"
    rf"|\b{_BEHAVIOR}\s+(?:must|should|has\s+to|shall)\s+(?:not\s+change|(?:stay|remain|be)\s+{_SAME})\b"
    rf"|\b(?:keep|keeping|preserv(?:e|ing))\s+(?:(?:the|its|all|existing|current|public|observable|same|exact)\s+)*{_BEHAVIOR}\b",
    re.IGNORECASE,
)
_PARTIAL = compile_lazily(
    r"\b(?:otherwise|elsewhere|else|except|apart\s+from|other\s+than|unless|default|by\s+default|for|when|if|on|in)\b",
    re.IGNORECASE,
)
"""Words after a limit by which it is none of everything."""

_REFACTORED = compile_lazily(
    rf"^\W*(?:please\s+)?refactor\s+{ARTICLES}(?:{DEFINED}\s+)?(?:`{NAME}`|{NAME}|\w+)(?:\s+{DEFINED})?(?:\s+(?:in|of|from)\s+\S+)?"
    r"(?:\s+(?:for\s+(?:readability|clarity|simplicity|speed|performance)|to\s+(?:be|make\s+it|read)\s+(?:\w+\s+)?\w+"
    r"|so\s+that\s+it\s+is\s+(?:\w+\s+)?\w+))?\W*$",
    re.IGNORECASE,
)
_ONLY = compile_lazily(
    r"\bonly\s+(?:for|on|with|when\s+(?:given|passed))\s+(?:an?\s+)?(?P<what>negative|zero|empty|none)\b"
    r"(?:\s+(?:numbers?|integers?|values?|inputs?|lists?|strings?|texts?|arguments?|items?))?",
    re.IGNORECASE,
)
_ONLY_ORDER = compile_lazily(
    r"\b(?:chang|differ|fix|alter|affect|behaviou?r|answer|rais|return|do\b|this\b)", re.IGNORECASE
)


def _list_parts(value: Any) -> Iterator[Any]:
    yield value
    match value:
        case list() | tuple() | set():
            for each in value:
                yield from _list_parts(each)
        case dict():
            for pair in value.items():
                yield from _list_parts(pair)


_HOLDS: Mapping[str, Callable[[Any], bool]] = {
    "negative": lambda each: type(each) in (int, float) and each < 0,
    "zero": lambda each: type(each) in (int, float) and each == 0,
    "empty": lambda each: isinstance(each, str | list | tuple | dict | set | bytes) and not each,
    "none": lambda each: each is None,
}


def find_behavior_limit(text: str) -> str | None:
    """Return the check of a limit: "" for all answers, "only negative" and the like; None if there is none."""
    if match := _ONLY.search(text):
        if _ONLY_ORDER.search(text):
            return f"{ONLY}{match['what'].lower()}"
        return None
    if "efactor" in text and _REFACTORED.match(text.strip()):
        return ""
    if "ehavio" not in text and "unctional" not in text:
        return None
    for match in _KEPT.finditer(text):
        if not _PARTIAL.search(re.split(r"[.;\n]", text[match.end() :], maxsplit=1)[0]):
            return ""
    return None


def is_within(check: str, arguments: str) -> bool:
    """Return whether a limit allows another answer for an input, which is text of a literal."""
    holds = _HOLDS.get(check.removeprefix(ONLY))
    return holds is not None and any(map(holds, _list_parts(ast.literal_eval(arguments))))
