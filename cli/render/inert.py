"""Untrusted text made safe to show: what could steer a terminal or deceive a reader is spelled out."""

from __future__ import annotations

import re


def inert(text: str) -> str:
    r"""`text` with control characters, bidi controls and invisible characters written as escapes (`\x1b`).

    Tabs and newlines stay, CR LF becomes a newline, and the joiner inside an emoji stays.
    """
    if text.isascii() and text.isprintable():
        return text
    return _UNSAFE.sub(_spelled, text.replace("\r\n", "\n"))


_UNSAFE = re.compile(
    "["
    "\x00-\x08\x0b-\x1f\x7f"  # C0 without tab and newline: ESC above all, but also backspace and CR
    "\x80-\x9f"  # C1: some terminals take \x9b for ESC [
    "\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"  # invisible
    "\u200b\u200c\u200e\u200f"  # zero width, direction marks
    "\u2028-\u202e\u2060-\u206f"  # line separators, bidi embeddings, overrides and isolates ("Trojan Source")
    "\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff"  # lone surrogates cannot be written at all
    "\U000e0000-\U000e007f"  # tag characters: ASCII that nobody sees
    "]"
    # The joiner builds emoji (a picture before it, another after it); anywhere else it hides.
    "|(?<![\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])\u200d"
)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
