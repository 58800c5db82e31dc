"""Separation of untrusted output from a tool's own notes: no line of the former can imitate the latter."""

from __future__ import annotations

import re
from collections.abc import Iterable


def format_note(text: str) -> str:
    """Format a note of the tool, placed between or after untrusted lines."""
    return f"[… {text} …]"


def escape_lookalikes(text: str) -> str:
    r"""Escape untrusted text: a line that looks like a note or a tag of the harness gets a leading backslash.

    So a line without one is the harness's. Text with a prefix on every line (numbers, a diff's marks, an
    indentation) does not need this.
    """
    return _LOOKALIKE.sub(r"\g<indent>\\", text) if "[" in text or "<" in text else text


def quote_lines(lines: Iterable[str]) -> str:
    """Quote untrusted text within a message in the user's role: each line is marked as quoted."""
    return "\n".join(f"  | {line}" for line in lines)


def enclose_in_tag(tag: str, text: str, about: str = "") -> str:
    """Enclose untrusted text in tags; it cannot contain the closing tag."""
    inside = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", r"<\\", text, flags=re.IGNORECASE)
    return f"<{tag}{about}>\n{inside}\n</{tag}>"


_LOOKALIKE = re.compile(
    r"(?im)^(?P<indent>[^\S\n]*)(?="
    r"\[\s*(?:…|\.\.\.|more\b|sandbox\b|whole output\b|note\b|user\b|system\b|patchwright\b|i have\b)"
    r"|<\s*/?\s*(?:tool|function|system|user|assistant|stdin|project-instructions)[\w-]*\s*/?>)"
)
"""Our notes, the tags that we use, and those that models are known to take for another speaker's."""
