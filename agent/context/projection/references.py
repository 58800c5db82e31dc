"""References in text: paths, names and errors that later actions may use, found by their form.

Compaction stages keep these when they shorten an output, so that the model knows what it can request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from sandbox.lazy_pattern import compile_lazily

_WORD = compile_lazily(r"[A-Za-z_]\w{3,59}")
_LIKE_CODE = compile_lazily(
    r"[a-z0-9]_+[A-Za-z0-9]|[A-Z]_[A-Z0-9]|[a-z][A-Z\d]|^_|_$|^[A-Z][a-z]+[A-Z]|^[A-Z]{4,}$"
)
_PATH = compile_lazily(
    r"(?<![\w/.-])(?:[\w.+-]*/)*[\w.+-]+\.(?:py|pyi|pyx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|js|jsx|ts|tsx|vue|rb|php|sh"
    r"|sql|html|css|scss|md|rst|txt|toml|cfg|ini|json|ya?ml|xml|lock|ipynb)(?![\w-])"
)
_DEFINED = compile_lazily(
    r"^(?:\s*\d+[:\t|]\s*)?\s*((?:export |pub |async |static |public |private )*"
    r"(?:def|class|func|function|fn|struct|enum|trait|interface|impl|type|module)\s+\w[^\n]{0,90})",
    re.MULTILINE,
)
_ERROR = compile_lazily(
    r"^[^\n]{0,200}?(?:\b\w*(?:Error|Exception|Warning|Failure)\b(?::|\()|^E  |\bFAILED\b"
    r"|\berror(?:\[\w+\])?:|\bpanicked at\b)[^\n]{0,160}",
    re.MULTILINE,
)
_DEFINE = ("def", "class", "func", "fn", "struct", "enum", "trait", "interface", "impl", "type", "module")
_FAIL = ("Error", "Exception", "Warning", "Failure", "E  ", "FAILED", "error", "panicked at")
"""Substrings of which every match of the corresponding pattern contains one."""


@lru_cache(maxsize=256)
def find_paths(text: str) -> Sequence[str]:
    """Return the file names in a text, in order, each once."""
    # file names contain no blanks, and most words contain no dot
    return tuple(_deduplicate(path for word in text.split() if "." in word for path in _PATH.findall(word)))


@lru_cache(maxsize=256)
def find_names(text: str) -> Sequence[str]:
    """Return identifiers that look like code (snake, camel, capital, numbered), in order, each once."""
    return tuple(filter(_is_code_like, _deduplicate(_WORD.findall(text))))


@lru_cache(maxsize=256)
def find_definitions(text: str) -> Sequence[str]:
    """Return the beginnings of lines that define something."""
    return tuple(
        _deduplicate(found[1].rstrip(" {:").strip() for found in _match_by_line(_DEFINED, _DEFINE, text))
    )


@lru_cache(maxsize=256)
def find_errors(text: str) -> Sequence[str]:
    """Return the lines that report an error."""
    return tuple(_deduplicate(found[0].strip() for found in _match_by_line(_ERROR, _FAIL, text)))


@lru_cache(maxsize=256)
def find_words(text: str) -> frozenset[str]:
    """Return every identifier in a text that is long enough for `find_names`."""
    return frozenset(_WORD.findall(text))


def find_line_words(line: str) -> frozenset[str]:
    """Return the same for one line, without caching."""
    return frozenset(_WORD.findall(line))


@lru_cache(maxsize=16_384)
def _is_code_like(word: str) -> bool:
    return _LIKE_CODE.search(word) is not None


def _match_by_line(pattern: re.Pattern[str], cues: Sequence[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern anchored at a line start; only lines with a cue are tried."""
    starts: set[int] = set()
    for cue in cues:
        at = text.find(cue)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(cue, end) if end >= 0 else -1
    done = 0
    for start in sorted(starts):
        if start >= done and (found := pattern.match(text, start)):
            done = found.end()
            yield found


def _deduplicate(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))
