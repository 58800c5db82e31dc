"""Characters that editors, chats and models write in place of ASCII ones."""

from __future__ import annotations

LOOK_ALIKES: dict[int, str | None] = {
    **dict.fromkeys(map(ord, "‘’‚‛′ʼ＇"), "'"),
    **dict.fromkeys(map(ord, "“”„‟″＂"), '"'),
    **dict.fromkeys(map(ord, "‐‑‒–—―−﹣－"), "-"),
    **dict.fromkeys(
        map(ord, "\u00a0\u1680\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"), " "
    ),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), None),
    ord("…"): "...",
    ord("（"): "(",
    ord("）"): ")",
    ord("，"): ",",
    ord("："): ":",
    ord("；"): ";",
    ord("！"): "!",
    ord("？"): "?",
    ord("×"): "x",
    ord("→"): "->",
    ord("⇒"): "=>",
    ord("≠"): "!=",
    ord("≤"): "<=",
    ord("≥"): ">=",
}
"""Characters that editors, chats and models write for an ASCII one; None: invisible."""


def replace_look_alikes(text: str) -> str | None:
    """Replace look-alikes by their ASCII characters; None if there are none."""
    plain = text if text.isascii() else text.translate(LOOK_ALIKES)
    return plain if plain != text else None
