"""What a tool found, kept apart from what the tool says: no line of it can pass for one of our own notes."""

from __future__ import annotations

import re
from collections.abc import Iterable


def format_note(text: str) -> str:
    """A line of ours under or between what was found."""
    return f"[… {text} …]"


def escape_lookalikes(text: str) -> str:
    r"""Foreign text, in which a line that looks like a note or a tag of ours begins with a backslash.

    So a line that does not is ours. Text with a prefix on every line (numbers, a diff's marks, an indentation)
    needs no such care.
    """
    return _LOOKALIKE.sub(r"\g<indent>\\", text) if "[" in text or "<" in text else text


def quote_lines(lines: Iterable[str]) -> str:
    """Foreign text inside words of ours that a model takes for the user's: each line marked as quoted."""
    return "\n".join(f"  | {line}" for line in lines)


def enclose_in_tag(tag: str, text: str, about: str = "") -> str:
    """Foreign text between two tags, the second of which cannot stand in it."""
    inside = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", r"<\\", text, flags=re.IGNORECASE)
    return f"<{tag}{about}>\n{inside}\n</{tag}>"


_LOOKALIKE = re.compile(
    r"(?im)^(?P<indent>[^\S\n]*)(?="
    r"\[\s*(?:…|\.\.\.|more\b|sandbox\b|whole output\b|note\b|user\b|system\b|patchwright\b|i have\b)"
    r"|<\s*/?\s*(?:tool|function|system|user|assistant|stdin|project-instructions)[\w-]*\s*/?>)"
)
"""Our notes, the tags that we use, and those that models are known to take for somebody else's voice."""
