"""Removal of line numbers, fences, escapes and diff marks that models copy into a text; None when there are
none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily
from tools.edit.formats.placeholders import is_elision

FENCES = ("```", "~~~")
"""Beginnings of a line that opens or closes a fence."""

_NUMBERED = compile_lazily(
    r"(?P<pad>[ \t]*)(?P<number>\d{1,7})(?P<mark>\t|→|[ ]?[|│][ ]?|:[ ]?|[.)][ ]|[ ]*\Z)"
)
_TAG_NAMES = (
    "code|source|old|new|old_str|new_str|old_string|new_string|old_text|new_text|search|replace|content|text|file|diff"
    "|snippet|original|updated"
)
_OPENING_TAG = compile_lazily(rf"\s*<({_TAG_NAMES})>[ \t]*\n?", re.IGNORECASE)
_FENCE = compile_lazily(r"(`{3,}(?!`)|~{3,}(?!~))[^`\n]*\Z")
_ESCAPE = compile_lazily(r"\\(?:u([0-9a-fA-F]{4})|([nrt\"'\\/`$]))")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


def strip_line_numbers(text: str, like: str = "") -> str | None:
    """Strip line numbers as `cat -n` shows them ("   12\\ttext"), or "12: text", "12|text", "12→text".

    Every line that is not blank has one, or is an elision; they increase by one, and by more only over an
    elision.
    like: another text with such numbers: then one number is enough, and the space after the marks belongs to
        the lines if it does so in either
    """
    lines, matches = _match_line_numbers(text)
    if not _is_consecutive(lines, matches):
        return None
    marks = {match["mark"].strip(" ") for match in matches if match and match["mark"].strip(" ")}
    if len(marks) != 1:
        return None
    mark = marks.pop()
    alone = mark not in "\t→" and sum(match is not None for match in matches) == 1
    if alone and (mark in ".)" or not (_is_padded(matches) or (like and is_numbered(like)))):
        return None  # a number with a dot is an item of a list
    spaced = all(_has_space_after_marks(*_match_line_numbers(each)) for each in (text, like))
    return "\n".join(
        line if match is None else _strip_number(line, match, keeps_space=not spaced)
        for line, match in zip(lines, matches, strict=True)
    )


def is_numbered(text: str) -> bool:
    """Return whether all lines are prefixed with consecutive numbers; a single one suffices."""
    return _is_consecutive(*_match_line_numbers(text))


def parse_first_line_number(text: str) -> int | None:
    """Return the number of the first line, if all lines have one with a mark of `cat -n` (a list has other
    marks).
    """
    _, matches = _match_line_numbers(text)
    found = [match for match in matches if match]
    if (
        not found
        or not is_numbered(text)
        or any(match["mark"].strip(" ") in (":", ".", ")") for match in found)
    ):
        return None
    return int(found[0]["number"]) if found[0] is matches[0] else None


def _match_line_numbers(text: str) -> tuple[list[str], list[re.Match[str] | None]]:
    lines = text.split("\n")
    return lines, [_NUMBERED.match(line) for line in lines]


def _has_space_after_marks(lines: Sequence[str], matches: Sequence[re.Match[str] | None]) -> bool:
    """Return whether a space follows every mark that is not at the end of its line."""
    return all(
        match["mark"].endswith(" ") or match.end() == len(line)
        for line, match in zip(lines, matches, strict=True)
        if match
    )


def has_fence(text: str) -> bool:
    """Return whether fence marks occur anywhere, in comments too."""
    return any(mark in text for mark in FENCES)


def strip_fences(text: str) -> str | None:
    """Strip nested wrappings of the whole text: a fence (``` or ~~~), a tag such as `<code>`, CDATA."""
    result: str | None = None
    inner: str | None = text
    while inner is not None:
        result = inner if inner is not text else result
        undone = (undo(inner) for undo in (_strip_one_fence, _strip_tag, _strip_cdata))
        inner = next((each for each in undone if each is not None), None)
    return result


def undo_escapes(text: str) -> str | None:
    """Undo escapes that JSON leaves when a text was encoded twice: `\\n`, `\\t`, `\\"` in a text of one line.

    In a text of several lines only quotes are unescaped, and only if there is no other quote.
    """
    if "\n" in text.rstrip("\n"):
        plain = text.replace('\\"', '"') if text.count('"') == text.count('\\"') else text
    elif _ESCAPE.search(text):
        plain = _ESCAPE.sub(_replace_escape, text)
    else:
        return None
    return plain if plain != text else None


def strip_diff_marks(text: str) -> str | None:
    """Strip the marks of a diff: every line begins with a space or "-", or every line with a space or "+"."""
    lines = text.split("\n")
    marks = {line[0] for line in lines if line}
    if marks not in ({"-"}, {"+"}, {"-", " "}, {"+", " "}):
        return None
    return "\n".join(line[1:] for line in lines)


def _is_consecutive(lines: Sequence[str], matches: Sequence[re.Match[str] | None]) -> bool:
    """Return whether the numbers increase as those of lines do. A blank line may have lost its number."""
    expected: int | None = None
    blank = 0
    for line, match in zip(lines, matches, strict=True):
        if match is None:
            if is_elision(line):
                expected, blank = None, 0
            elif line.strip():
                return False
            else:
                blank += 1
            continue
        number = int(match["number"])
        if expected is not None and not expected <= number <= expected + blank:
            return False
        expected, blank = number + 1, 0
    return any(match is not None for match in matches)


def _is_padded(matches: Sequence[re.Match[str] | None]) -> bool:
    return any(match is not None and match["pad"] for match in matches)


def _strip_number(line: str, match: re.Match[str], *, keeps_space: bool) -> str:
    rest = line[match.end() :]
    return " " + rest if keeps_space and match["mark"].endswith(" ") else rest


def _strip_one_fence(text: str) -> str | None:
    body = text.strip("\n")
    first, _, rest = body.strip().partition("\n")
    opening = _FENCE.match(first.strip())
    inside, newline, last = rest.rpartition("\n")
    if opening is None or not (newline or rest):
        return None
    fence = opening[1]
    if (
        "\n" in text
        and opening.group().strip() != fence
        and not any(_is_closing_fence(each, "`~"[fence[0] == "~"]) for each in rest.split("\n"))
    ):
        return text.strip("\n").partition("\n")[2] + ("\n" if text.endswith("\n") else "")  # never closed
    if not _is_closing_fence(last, fence) or any(
        _is_closing_fence(line, fence) for line in inside.split("\n")
    ):
        return None
    return inside + "\n" if text.endswith("\n") and inside else inside


def _is_closing_fence(line: str, fence: str) -> bool:
    text = line.strip()
    return text.startswith(fence) and not text.strip(fence[0])


def _strip_tag(text: str) -> str | None:
    opening = _OPENING_TAG.match(text)
    if opening is None:
        return None
    body = text[opening.end() :].rstrip()
    closing = f"</{opening[1]}>"
    if not body.lower().endswith(closing.lower()):
        return None
    inside = body[: -len(closing)]
    return _match_final_newline(inside, text)


def _strip_cdata(text: str) -> str | None:
    body = text.strip()
    if not (body.startswith("<![CDATA[") and body.endswith("]]>")):
        return None
    return _match_final_newline(body[len("<![CDATA[") : -len("]]>")].removeprefix("\n"), text)


def _match_final_newline(inside: str, text: str) -> str:
    """Adjust the final newline: the one before a closing tag is the tag's, unless the text itself ends with
    one.
    """
    inside = inside.rstrip(" \t") if inside.rstrip(" \t").endswith("\n") else inside
    return inside.removesuffix("\n") + ("\n" if text.endswith("\n") else "")


def _replace_escape(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return _ESCAPED.get(match[2], match[2])
