"""Separation of untrusted text from a tool's own notes and from a person's words: it can imitate neither."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from sandbox.lazy_pattern import compile_lazily
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
    """Enclose untrusted text in tags; it cannot contain the closing tag, nor begin another block of ours."""
    inside = re.sub(rf"<(?=\s*/?\s*{re.escape(tag)}\b)", r"<\\", text, flags=re.IGNORECASE)
    if "<" in inside and tag != "skill":  # whose words the person chose
        inside = _BLOCK.sub(r"<\\", inside)
    return f"<{tag}{about}>\n{inside}\n</{tag}>"


def quote_words(words: Iterable[str]) -> str:
    """Quote untrusted words, such as names of files, for a place inside of a person's sentence: one line, marked as
    data, and no `@` among them attaches anything."""
    inside = " ".join(_MENTION.sub(r"\\@", quote_name(each)) for each in words)
    return f"<data>{inside.replace('<', '&lt;')}</data>"


def remove_foreign_text(prompt: str) -> str:
    """Return a prompt without what others wrote in it: only the rest says what the person wants."""
    return _replace_foreign_text(prompt, lambda length: "\n")


def mask_foreign_text(prompt: str) -> str:
    """Return a prompt of the same length with blanks in place of what others wrote, for a search with offsets."""
    return _replace_foreign_text(prompt, lambda length: " " * length)


def _replace_foreign_text(prompt: str, replace: Callable[[int], str]) -> str:
    """Replace the texts within a prompt that `enclose_in_tag` and `quote_words` write. replace: gets their length"""
    spans: list[tuple[int, int]] = []
    closings: dict[
        str, int
    ] = {}  # by closing tag, where it was found last: pages that people paste have many open ones
    end = 0
    for opening, first, closing, is_ours in _list_openings(prompt) if "</" in prompt else ():
        if opening < end and not is_ours:
            continue
        found = closings.get(closing, 0)
        if 0 <= found < first:
            found = closings[closing] = prompt.find(closing, first)
        if found < 0:
            continue
        # A person may write `<b>` in front of a block of ours that holds `</b>`: what either encloses is not theirs.
        if opening >= end:
            spans.append((opening, found + len(closing)))
        else:
            spans[-1] = (spans[-1][0], max(end, found + len(closing)))
        end = spans[-1][1]
    parts: list[str] = []
    kept = 0
    for start, end in spans:
        parts += [prompt[kept:start], replace(end - start)]
        kept = end
    return "".join((*parts, prompt[kept:]))


def _list_openings(prompt: str) -> Iterator[tuple[int, int, str, bool]]:
    """Yield the start of each opening tag, where its content begins, the text that ends it, and whether it begins one
    of our blocks."""
    line_end = -1
    for tag in _OPENING.finditer(prompt):
        name, end = tag["name"], tag.end()
        if line_end < end:
            found = prompt.find("\n", end)
            line_end = found if found >= 0 else len(prompt)
        closes_line = line_end < len(prompt) and prompt[line_end - 1] == ">"
        if closes_line and (prompt[end] == " " or line_end == end + 1):
            yield tag.start(), line_end + 1, f"\n</{name}>", name in _BLOCKS
        if name in _INLINE and prompt[end] == ">":
            yield tag.start(), end + 1, f"</{name}>", False


_BLOCKS = frozenset(("stdin", "output", "file", "mcp-resource", "mcp-prompt", "hook-input"))
"""Tags of the blocks of others that a prompt may hold, and that hold none of each other."""

_BLOCK = compile_lazily(
    r"<(?=(?:stdin|output|file|mcp-resource|mcp-prompt|hook-input)(?:[ ][^\n]*)?>(?:\n|\Z))"
)
_MENTION = compile_lazily(r"(?<![^\s(\"'])@")

_OPENING = compile_lazily(r"<(?P<name>[a-z][a-z-]*)(?=[ >])")
"""The beginning of a tag: of a block if its line ends with the tag, or of one on a line."""

_INLINE = frozenset(("data", "stdin"))
"""Names of tags that may begin and end on one line."""

_LOOKALIKE = compile_lazily(
    r"(?im)^(?P<indent>[^\S\n]*)(?="
    r"\[\s*(?:…|\.\.\.|more\b|sandbox\b|whole output\b|note\b|user\b|system\b|patchwright\b|i have\b)"
    r"|<\s*/?\s*(?:tool|function|system|user|assistant|stdin|project-instructions)[\w-]*\s*/?>)"
)
"""Our notes, the tags that we use, and those that models are known to take for another speaker's."""
