"""A symbol of a file: its name, its kind and its lines."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A symbol and its lines, from 1, both ends included.

    name: qualified by the enclosing symbol, "Cart.total"
    kind: "function", "method", "class", "struct", "interface", "enum", "type", "namespace" …
    head_first: including the comment above that belongs to it
    first: including its decorators (attributes, annotations)
    own_first: the definition alone; `first` unless decorators have lines of their own
    body_first: start of its body; on the definition's first line in many languages
    decorators: the lines between head_first and own_first that are not comments
    lead, tail: other text on its first and last line ("" for almost every definition)
    language: name in `tools.code.languages`
    package: the package or namespace declared for the whole file, or ""
    """

    name: str
    kind: str
    head_first: int
    first: int
    own_first: int
    body_first: int
    last: int
    decorators: tuple[int, ...]
    lead: str
    tail: str
    language: str
    package: str

    @property
    def parent(self) -> str:
        """The qualified name of the enclosing symbol, "" at the top level."""
        return self.name.rpartition(".")[0]
