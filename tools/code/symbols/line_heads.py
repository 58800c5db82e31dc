"""Definitions by their first lines and their indentation, for what a grammar does not understand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("def", "fn", "fun", "func", "function"), "function"),
    **dict.fromkeys(("class", "record"), "class"),
    **dict.fromkeys(("interface", "protocol"), "interface"),
    **{each: each for each in ("enum", "module", "object", "struct", "trait")},
}
"""Keyword → kind of the definition that it begins."""

HEAD = compile_lazily(
    r"(?P<indent>[ \t]*)(?:[a-z]\w*(?:\(\w+\))? ){0,5}"
    r"(?P<keyword>class|def|enum|fn|func|function|fun|interface|module|object|protocol|record|struct|trait)"
    r"\s+(?:self\.)?(?P<name>[A-Za-z_]\w*)"
)
"""The first line of a definition, in most languages."""

_REST = compile_lazily(r"\s*(?:$|[<(\[{]|:(?!:))|\s+(?:extends|implements|where|with)\b")
"""What follows the name in it, and in no sentence of a comment."""

_DECLARES = compile_lazily(r"[^{=]*;\s*$")
"""A line that ends what it begins, without a body."""

_NO_END = compile_lazily(r"#|\{|(public|private|protected)\b[^;{(]*:$")
"""Lines at a definition's own indentation that do not end it: comments, directives, its brace, labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineHead:
    """A first line, and its block.

    name: qualified by the lines around it
    indent: columns before it, with tabs expanded; column: characters before it
    first, last: its lines, from 1
    """

    name: str
    kind: str
    indent: int
    column: int
    first: int
    last: int


def find_line_heads(lines: Sequence[str]) -> list[LineHead]:
    """Return the first lines of definitions, with the blocks that their indentation shows."""
    found: list[LineHead] = []
    around: list[LineHead] = []
    for number, line in enumerate(lines, 1):
        head = HEAD.match(line)
        if head is None or _DECLARES.match(line) or not _REST.match(line, head.end()):
            continue
        indent = len(head["indent"].expandtabs(4))
        while around and (around[-1].indent >= indent or around[-1].last < number):
            around.pop()
        kind = KINDS[head["keyword"]]
        outer = around[-1] if around else None
        if outer is not None and outer.kind != "function" and kind == "function":
            kind = "method"
        around.append(
            LineHead(
                name=f"{outer.name}.{head['name']}" if outer is not None else head["name"],
                kind=kind,
                indent=indent,
                column=head.end("indent"),
                first=number,
                last=_find_end(lines, number, indent),
            )
        )
        found.append(around[-1])
    return found


def _find_end(lines: Sequence[str], head: int, indent: int) -> int:
    """Return the last line of the block of a first line: those that are indented more, and what closes it."""
    if 0 < lines[head - 1].count("{") == lines[head - 1].count("}"):
        return head
    last = head
    for number in range(head, len(lines)):
        line = lines[number]
        bare = line.strip()
        if not bare or _NO_END.match(bare):
            continue
        if len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip()) <= indent:
            if not bare.startswith(("}", "end", ")")):
                return last
            if not bare.endswith((":", "{", "=")):  # a list of parameters, before the body
                return number + 1
        last = number + 1
    return last
