"""Keys in the encoding of the kitty keyboard protocol, as terminals that know it send them on request.

Its first level is asked for: Escape, and keys with Ctrl or Alt, have sequences of their own, so that no key can be
mistaken for the beginning of another. https://sw.kovidgoyal.net/kitty/keyboard-protocol/
"""

from __future__ import annotations

import re

from sandbox.lazy_pattern import compile_lazily

LONE_ESCAPE = "\x1b[27u"
"""Escape by itself; key bindings know it as such, and no other key can follow in its sequence."""

_SHIFT, _ALT, _CTRL = 1, 2, 4
_LOCKS = 64 | 128
"""Caps Lock and Num Lock, which are no part of a key."""

_KEY = compile_lazily(r"\x1b\[(\d*)(?::\d*)*(?:;(\d+)(?::\d*)?)?(?:;[\d:]*)?([u~ABCDEFHPQS])")
_BEGUN = compile_lazily(r"\x1b\[[\d:;]*$")

_KEYPAD = {57414: "\r", 57417: "\x1b[D", 57418: "\x1b[C", 57419: "\x1b[A", 57420: "\x1b[B", 57421: "\x1b[5~",
           57422: "\x1b[6~", 57423: "\x1b[H", 57424: "\x1b[F", 57425: "\x1b[2~", 57426: "\x1b[3~"}  # fmt: skip
"""Keys of the keypad without a text, by number."""

_WITH_CTRL = {" ": "\0", "/": "\x1f", "2": "\0", "3": "\x1b[27u", "4": "\x1c", "5": "\x1d", "6": "\x1e", "7": "\x1f",
              "8": "\x7f", "\x7f": "\x08", "[": LONE_ESCAPE}  # fmt: skip
"""Keys that Ctrl does not map to the control character of their lowest five bits."""


def translate_keys(typed: str) -> tuple[str, str]:
    """Return the keys in the encoding that every terminal has, and the beginning of one whose rest has not come."""
    begun = _BEGUN.search(typed)
    held = begun[0] if begun else ""
    return _KEY.sub(_translate_key, typed.removesuffix(held)), held


def _translate_key(found: re.Match[str]) -> str:
    final = found[3]
    pressed = (int(found[2]) - 1) & ~_LOCKS if found[2] else 0
    if final != "u" or not found[1]:
        return _format_function_key(found[1], pressed, final)
    code = int(found[1])
    if code in _KEYPAD:
        return _KEYPAD[code]
    if code > 127 or pressed & ~(_SHIFT | _ALT | _CTRL):
        return ""  # a key that has no other encoding
    return _format_character(chr(code), pressed)


def _format_function_key(number: str, pressed: int, final: str) -> str:
    if pressed:
        return f"\x1b[{number};{pressed + 1}{final}"
    return f"\x1b[{number}~" if final == "~" else f"\x1b{'O' if final in 'PQS' else '['}{final}"


def _format_character(key: str, pressed: int) -> str:
    if key == "\x1b":
        return LONE_ESCAPE
    if key == "\r" and pressed & _SHIFT:
        return "\x1b[13;2u"  # known to the key bindings
    if key == "\t" and pressed & _SHIFT:
        return "\x1b[Z"
    if pressed & _CTRL:
        typed = _WITH_CTRL.get(key) or (chr(ord(key) & 0x1F) if "@" <= key <= "~" else key)
    else:
        typed = key.upper() if pressed & _SHIFT else key
    if not pressed & _ALT:
        return typed
    return "" if typed in "[O" else f"\x1b{typed.replace(LONE_ESCAPE, chr(27))}"  # those two begin sequences
