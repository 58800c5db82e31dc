"""What later actions refer to: paths, names, errors and tests, found in text by their form.

The compressors keep these when they shorten an output, so that a model still sees what there is to be asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z_]\w{3,59}")
_LIKE_CODE = re.compile(
    r"[a-z0-9]_+[A-Za-z0-9]|[A-Z]_[A-Z0-9]|[a-z][A-Z\d]|^_|_$|^[A-Z][a-z]+[A-Z]|^[A-Z]{4,}$"
)
_PATH = re.compile(
    r"(?<![\w/.-])(?:[\w.+-]*/)*[\w.+-]+\.(?:py|pyi|pyx|c|h|cc|cpp|hpp|cs|go|rs|java|kt|js|jsx|ts|tsx|vue|rb|php|sh"
    r"|sql|html|css|scss|md|rst|txt|toml|cfg|ini|json|ya?ml|xml|lock|ipynb)(?![\w-])"
)
_DEFINED = re.compile(
    r"^(?:\s*\d+[:\t|]\s*)?\s*((?:export |pub |async |static |public |private )*"
    r"(?:def|class|func|function|fn|struct|enum|trait|interface|impl|type|module)\s+\w[^\n]{0,90})",
    re.MULTILINE,
)
_ERROR = re.compile(
    r"^[^\n]{0,200}?(?:\b\w*(?:Error|Exception|Warning|Failure)\b(?::|\()|^E  |\bFAILED\b"
    r"|\berror(?:\[\w+\])?:|\bpanicked at\b)[^\n]{0,160}",
    re.MULTILINE,
)
_TEST = re.compile(r"(?<![\w/.-])[\w./-]+\.py::[\w:\[\]., -]*\w\]?|\btest_\w+")


@lru_cache(maxsize=256)
def paths(text: str) -> Sequence[str]:
    """Names of files, in order, each once."""
    return tuple(_once(_PATH.findall(text)))


def names(text: str) -> list[str]:
    """Identifiers that look like code (snake, camel, capital, numbered), in order, each once."""
    return [word for word in _once(_WORD.findall(text)) if _LIKE_CODE.search(word)]


def definitions(text: str) -> list[str]:
    """Beginnings of lines that define something."""
    return _once(match.rstrip(" {:").strip() for match in _DEFINED.findall(text))


def errors(text: str) -> list[str]:
    """Lines that tell of an error."""
    return _once(match.strip() for match in _ERROR.findall(text))


def tests(text: str) -> list[str]:
    """Names of tests."""
    return _once(_TEST.findall(text))


@lru_cache(maxsize=256)
def words(text: str) -> frozenset[str]:
    """Every identifier in a text that is long enough to be one of `names`."""
    return frozenset(_WORD.findall(text))


def _once(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(found))
