"""Definitions and bracketed lists in the lines of a view, found by headings, indentation and brackets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

LONGEST_LIST = 40
"""Lines of an import or a signature that are followed to its closing bracket."""

_KINDS = "def|class|func|function|fn|struct|enum|trait|interface|impl|type|module|mod|namespace|package"
_HEADING = compile_lazily(
    r"\s*(?:(?:async |export |default |pub(?:\([a-z]+\))? |public |private |protected |static |abstract |final )*"
    rf"(?:(?:{_KINDS})\s+\w|func\s+\()|@\w)"
)
_NAME = compile_lazily(rf"\b(?:{_KINDS})\s+(?:\([^)]*\)\s*)?(\w+)")
_CLASS = compile_lazily(r"[\w\s()]*\b(?:class|struct|enum|trait|interface|impl|module|mod|namespace)\s")
_LISTED = compile_lazily(r"\s*(?:from\s|import\s|use\s|export\s|@\w|const\s.*\brequire\b)")
_OPEN, _CLOSED = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition in a view: indices of its first line (a decorator's) and behind its last, and its name.

    A class ends at its first member, whose definition is its own.
    """

    start: int
    end: int
    name: str


def is_heading(text: str) -> bool:
    """Return whether a line begins a definition, or decorates one."""
    return _HEADING.match(text) is not None


def measure_indent(text: str) -> int:
    return len(text) - len(text.lstrip())


def find_definitions(texts: Sequence[str]) -> list[Definition]:
    """Return the definitions of a view, in order; one that the view ends in ends with it."""
    headings = [i for i, text in enumerate(texts) if is_heading(text)]
    found: list[Definition] = []
    for at, i in enumerate(headings):
        if (name := _NAME.search(texts[i])) is None:
            continue  # a decorator
        whole, depth = _CLASS.match(texts[i]) is None, measure_indent(texts[i])
        later = (j for j in headings[at + 1 :] if not whole or measure_indent(texts[j]) <= depth)
        start = i
        while start > 0 and texts[start - 1].lstrip().startswith("@"):
            start -= 1
        found.append(Definition(start, next(later, len(texts)), name[1]))
    return found


def find_lists(texts: Sequence[str]) -> Iterator[range]:
    """Yield the imports and signatures that take several lines, from their first to their closing bracket."""
    at = 0
    while at < len(texts):
        end = at + 1
        defines = is_heading(texts[at])
        if defines or _LISTED.match(texts[at]):
            depth = _count_open(texts[at], has_body=defines)
            while depth > 0 and end < min(len(texts), at + LONGEST_LIST):
                depth += _count_open(texts[end], has_body=defines)
                end += 1
            if end > at + 1 and depth <= 0:
                yield range(at, end)
        at = end


def _count_open(text: str, *, has_body: bool) -> int:
    """Return how many more brackets a line opens than it closes, without its comment and the brace of a body."""
    code = text.split("#", 1)[0].rstrip()
    code = code[:-1] if has_body and code.endswith("{") else code
    return sum(map(code.count, _OPEN)) - sum(map(code.count, _CLOSED))
