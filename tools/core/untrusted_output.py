"""Separation of untrusted text from a tool's own notes and from a person's words: it can imitate neither."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sandbox.sanitize import quote_name


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


def quote_words(words: Iterable[str]) -> str:
    """Quote untrusted words, such as names of files, for a place inside of a person's sentence: one line, marked as
    data, and no `@` among them attaches anything."""
    inside = " ".join(_MENTION.sub(r"\\@", quote_name(each)) for each in words)
    return f"<data>{inside.replace('<', '&lt;')}</data>"


def remove_foreign_text(prompt: str) -> str:
    """Return a prompt without what others wrote in it: only the rest says what the person wants."""
    return _FOREIGN.sub("\n", prompt) if "</" in prompt else prompt


def mask_foreign_text(prompt: str) -> str:
    """Return a prompt of the same length with blanks in place of what others wrote, for a search with offsets."""
    return _FOREIGN.sub(lambda block: " " * len(block[0]), prompt) if "</" in prompt else prompt


_MENTION = re.compile(r"(?<![^\s(\"'])@")

_FOREIGN = re.compile(
    r"<(?P<block>[a-z][a-z-]*)(?: [^\n]*)?>\n.*?\n</(?P=block)>|<(?P<inline>data|stdin)>.*?</(?P=inline)>",
    re.DOTALL,
)
"""Texts within a prompt that are not the person's words, as `enclose_in_tag` and `quote_words` write them."""

_LOOKALIKE = re.compile(
    r"(?im)^(?P<indent>[^\S\n]*)(?="
    r"\[\s*(?:…|\.\.\.|more\b|sandbox\b|whole output\b|note\b|user\b|system\b|patchwright\b|i have\b)"
    r"|<\s*/?\s*(?:tool|function|system|user|assistant|stdin|project-instructions)[\w-]*\s*/?>)"
)
"""Our notes, the tags that we use, and those that models are known to take for another speaker's."""
