"""Sanitize untrusted text: escape characters that could control a terminal or deceive a reader."""

from __future__ import annotations

import re
from functools import cache

LONGEST_LINE = 8_000
"""Characters shown of one line: longer lines are not read, and a terminal takes seconds to wrap a megabyte."""


def sanitize_text(text: str) -> str:
    r"""Return `text` in displayable form: control characters as `\x1b`, other hidden ones as `<U+202E>`.

    Tabs and newlines stay, CR LF becomes a newline; joiners and variation selectors stay inside an emoji, where
    they belong. Overlong lines are clipped, with a note.
    """
    if text.isascii() and text.isprintable():
        return text if len(text) <= LONGEST_LINE else _clip_lines(text)
    return _clip_lines(_escape_hidden(text.replace("\r\n", "\n")))


def sanitize_for_approval(text: str) -> str:
    r"""Return all of `text` for an approval prompt: nothing is cut, and every unusual space is escaped.

    In addition to the characters that `sanitize_text` escapes, these are tabs (`\t`), every carriage return,
    the spaces of other scripts, and the joiners inside emoji.
    """
    return _compile_pattern(_SPACES).sub(_escape_character, _escape_hidden(text)).replace("\t", "\\t")


def quote_name(text: str) -> str:
    """Return a file's or branch's name on one line, quoted if it contains characters that would break the line."""
    shown = sanitize_text(text)
    if shown == text and "\n" not in text and "\t" not in text and text == text.strip():
        return text
    return '"' + shown.replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'


def sanitize_json(line: str) -> str:
    """Return JSON with hidden characters as its own escapes: equal when parsed, and safe to display."""
    if line.isascii():
        return line.replace("\x7f", "\\u007f")
    return _compile_pattern(_HIDDEN_IN_JSON).sub(_escape_json_character, line)


class _Spelling(dict[int, str]):
    """Cache of the displayed form of each character; filled on demand, since there are a million."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        shown = character if _is_visible(code, character) else _escape_code(code)
        self[code] = shown
        return shown


_SPELLING = _Spelling({9: "\t", 10: "\n"})


def _escape_hidden(text: str) -> str:
    text = text.translate(_SPELLING)
    if text.isascii():
        return text
    return _compile_pattern(_CROWDED).sub(
        _escape_stacked_marks, _compile_pattern(_STRAY).sub(_escape_character, text)
    )


def _is_visible(code: int, character: str) -> bool:
    if any(first <= code <= last for first, last in _INVISIBLE):
        return False
    if character.isprintable() or any(first <= code <= last for first, last in _SHOWN):
        return True
    return code >= 0xA0 and character.isspace()  # a no-break space, and those of other scripts


_INVISIBLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2028, 0x2029),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0D),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)
"""Printable according to Python but invisible: fillers, variation selectors, tags."""

_SHOWN = (
    (0x0600, 0x0605),
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x08E2, 0x08E2),
    (0x200D, 0x200D),
    (0x1F000, 0x1FAFF),
)
"""Unprintable according to Python but visible: signs around Arabic numbers, emoji newer than its tables.
The joiner is judged by its neighbours."""

_PICTURE = "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"

_STRAY = (
    f"(?<![{_PICTURE}\ufe0f])\u200d|\u200d(?![{_PICTURE}])"  # builds one emoji of two; anywhere else it hides
    f"|(?<![{_PICTURE}0-9#*])[\ufe0e\ufe0f]"  # selects how the preceding sign is drawn
)

_CROWDED = "[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]{5,}"
"""Stacked combining marks overlap the lines above; languages need three at most."""

_SPACES = "[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000\u200d\ufe0e\ufe0f]"

_HIDDEN_IN_JSON = (
    "[\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff]"
)


@cache
def _compile_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern on first use: most texts are plain."""
    return re.compile(text)


def _escape_character(match: re.Match[str]) -> str:
    return _escape_code(ord(match[0]))


def _escape_stacked_marks(match: re.Match[str]) -> str:
    return match[0][:4] + "".join(_escape_code(ord(each)) for each in match[0][4:])


def _escape_code(code: int) -> str:
    return f"\\x{code:02x}" if code < 0xA0 else f"<U+{code:04X}>"


def _escape_json_character(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"


def _clip_lines(text: str) -> str:
    if len(text) <= LONGEST_LINE:
        return text
    return _compile_pattern(_OVERLONG).sub(
        lambda match: f"{match[1]}[… {len(match[2]):,} more characters]", text
    )


_OVERLONG = rf"([^\n]{{{LONGEST_LINE}}})([^\n]{{40,}})"
"""A small excess over the limit is kept: the note about it would be as long."""
