"""Placeholder lines for omitted code: "# ... rest of the code unchanged", "...".

A placeholder names the omitted part in a closed set of words, in a comment, in brackets or after dots. A
comment with any other word in it is an honest one.
"""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

MAX_LENGTH = 160
"""Characters of a placeholder: longer lines have content."""

_OPENERS = (
    "{/*",
    "{{!--",
    "<!--",
    "{#",
    "/**",
    "/*",
    "///",
    "//",
    "--",
    "##",
    "#",
    ";;",
    ";",
    "%",
    "'''",
    '"""',
    "*",
    "REM ",
)
_CLOSERS = ("*/}", "--}}", "-->", "#}", "**/", "*/", "--", "'''", '"""')
_DOTS = compile_lazily(r"\.{3,}|…+")
_BRACKETS = (("[", "]"), ("(", ")"), ("<", ">"), ("{", "}"))


def _split_words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MISSING = _split_words(
    """
    rest remaining remainder existing previous prior original unchanged same omitted other others snip
    snipped truncated elided untouched before above earlier
    """
)
"""Words for an omission; one of them is in every placeholder."""

_PARTS = _split_words(
    """
    code implementation file function functions method methods class classes content contents logic body
    lines line module script section sections block blocks imports import fields properties props styles
    routes handlers tests test cases statements definitions variables constants configuration config options
    parameters params components component template markup html css component's functionality setup
    declarations members attributes entries items rules helpers hooks exports types page document text stuff
    things part parts struct interface
    """
)
"""Words for the omitted part."""

_SMALL = _split_words(
    """
    the of this that your my our all any in from to a an is are as it its here and with keep leave include
    insert retain preserve add put paste copy see stays stay remains remain goes go exactly still for
    brevity no not changes change changed needed etc everything else way was were current currently be below
    up down unmodified so on more continue continues
    """
)
"""Words that may surround these."""

_STATUS = compile_lazily(
    r"\b(?:unchanged|untouched|omitted|elided|truncated|snip|snipped|unmodified"
    r"|(?:stays?|remains?) (?:exactly )?(?:the )?same|no changes|not changed|same as (?:before|above)"
    r"|as (?:before|it was|is))\b"
)
_WHOLE = _split_words("code implementation file function method class content contents logic body")
"""Parts that brackets may contain together with such a word: `(rest)` and `[...other, item]` are code."""

_PLAIN = compile_lazily(
    r"(?:(?:the|keep|keep the|leave the|your) )?"
    r"(?:rest of (?:(?:the|your|this|my|our) )?(?:existing |original )?(?:" + "|".join(sorted(_PARTS)) + ")"
    r"|(?:remaining|existing) (?:code|implementation|logic|contents?))(?: (?:here|below|above|goes here))?"
)
"""Text that makes a plain comment a placeholder: "# existing imports" is a heading."""

_ELISION = compile_lazily(
    r"[ \t]*(?:#|//|--|;+|%|/\*|<!--|\{/\*)?[ \t]*(?:\.{3,}|…)[ \t]*(?:\*/\}?|-->)?[ \t\r]*"
)


def is_omission(line: str) -> bool:
    """Return whether a line represents others of the file: an elision, or a placeholder."""
    return is_elision(line) or is_placeholder(line)


def is_elision(line: str) -> bool:
    """Return whether a line is dots alone, or in a comment: lines are omitted there."""
    return len(line) <= MAX_LENGTH and bool(_ELISION.fullmatch(line))


def is_placeholder(line: str) -> bool:
    """Return whether a line represents omitted code. A bare `...` does not: it may be Python's Ellipsis."""
    if len(line) > MAX_LENGTH:
        return False
    text, is_comment, is_closed = _strip_comment_marks(line.strip())
    dotted, text = bool(_DOTS.search(text)), _DOTS.sub(" ", text)
    text, is_bracketed = _strip_brackets(text.strip())
    if not text:
        return dotted and is_closed
    words = re.findall(r"[a-z']+", text.lower())
    if not words or re.search(r"[^\w\s'’,.;:!&/-]|\d|_", text) or not (is_comment or dotted or is_bracketed):
        return False
    known = _MISSING | _PARTS | _SMALL
    if not all(word in known for word in words) or not any(word in _MISSING for word in words):
        return bool(_STATUS.fullmatch(" ".join(words)))
    phrase = " ".join(words)
    if is_comment and (dotted or is_bracketed):
        return True
    if dotted or is_bracketed:  # `...rest` is code in JavaScript, `(rest)` everywhere
        return len(words) > 1 and (dotted or bool(_STATUS.search(phrase)) or bool(_WHOLE & set(words)))
    return bool(_STATUS.search(phrase) or _PLAIN.fullmatch(phrase))


def _strip_comment_marks(text: str) -> tuple[str, bool, bool]:
    """Return a comment's text; whether it is a comment; whether it has a closing mark (`/* … */`)."""
    for opener in _OPENERS:
        if text.startswith(opener):
            text = text[len(opener) :]
            for closer in _CLOSERS:
                if text.endswith(closer):
                    return text[: -len(closer)].strip(), True, True
            return text.strip(), True, False
    return text, False, False


def _strip_brackets(text: str) -> tuple[str, bool]:
    for opening, closing in _BRACKETS:
        if len(text) > 2 and text[0] == opening and text[-1] == closing:
            return _DOTS.sub(" ", text[1:-1]).strip(), True
    return text, False
