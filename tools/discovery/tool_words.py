"""Words of tools and of questions about them, reduced so that "listing the issues" meets `list_issues`."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily

_PIECE = compile_lazily(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")

_COMMON_WORDS = (
    "a an and any are as at be by can do does for from given has have how i if in into is it its like me my need of on"
    " one or our out please so some something that the their them there these this to tool use used using want we"
    " what when where which who will with you your s t m d ll ve re take all up now right back about example people"
    " everything something did not no so last again let very just too was were been they he she his her him am here"
    " between only also then than other while yet still should could would may might must"
)

_COMMON = frozenset(_COMMON_WORDS.split())
"""Words that tell nothing about a tool."""


def reduce_word(word: str) -> str:
    """Return the stem of an English word: without the endings of plurals and of forms of verbs."""
    word = word.lower()
    for ending, least, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) >= least:
            word = word[: -len(ending)] + replacement
            break
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]  # planned → plan
    if len(word) > 3 and word.endswith("y"):
        return word[:-1] + "i"  # query → queri, as queries
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


_ENDINGS = (
    ("ies", 5, "i"), ("ied", 5, "i"), ("sses", 6, "ss"), ("xes", 5, "x"), ("ches", 6, "ch"), ("shes", 6, "sh"),
    ("ations", 9, "at"), ("ation", 8, "at"), ("ings", 7, ""), ("ing", 6, ""), ("edly", 7, ""), ("ed", 5, ""),
    ("ments", 9, ""), ("ment", 8, ""), ("ss", 4, "ss"), ("us", 4, "us"), ("is", 4, "is"), ("s", 4, ""),
)  # fmt: skip
"""Endings, the least length of a word that has one, and what takes its place; the first that fits is taken."""


def split_words(text: str) -> Iterator[str]:
    """Yield the stems of a text's words, also of names like `list_issues` and `listIssues`, without common words."""
    for piece in _PIECE.findall(text):
        if piece.lower() not in _COMMON:
            yield reduce_word(piece)
