"""Digest of an output that is masked or folded: the lines and names worth keeping in the history.

It keeps lines and words that later actions are likely to name (see `references`), and of these only those
that occur nowhere else in the retained history. ACON (arXiv 2510.00615) has a model shorten observations
under a guideline; this is the part of it that needs no model.
"""

from __future__ import annotations

from dataclasses import field

from agent.context.projection import references
from sandbox.lazy_dataclass import dataclass

MAX_DEFINITIONS = 12
MAX_ERRORS = 6
MAX_PATHS = 16
MAX_NAMES = 60
"""Limits for each output; a listing of thousands of files is requested again, not kept."""


@dataclass(slots=True)
class KnownWords:
    """Words and paths of the retained history, so that nothing is kept twice."""

    words: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)

    def add_text(self, text: str) -> None:
        """Add the words and paths of a retained text."""
        self.words |= references.find_words(text)
        self.paths.update(references.find_paths(text))


def build_digest(text: str, known: KnownWords) -> str:
    """Return the digest of `text` in a few lines, "" if nothing in it is new; updates `known`."""
    parts: list[str] = []
    errors = [line[:160] for line in references.find_errors(text)[:MAX_ERRORS]]
    paths = [path for path in references.find_paths(text)[:MAX_PATHS] if path not in known.paths]
    definitions = [
        line[:70]
        for line in references.find_definitions(text)[:MAX_DEFINITIONS]
        if not references.find_line_words(line) <= known.words
    ]
    if errors:
        parts.append("\n".join(f"  {line}" for line in errors))
    if paths:
        parts.append("  files: " + " ".join(paths))
    if definitions:
        parts.append("  " + " · ".join(definitions))
    known.add_text("\n".join(parts))
    if left := [name for name in references.find_names(text) if name not in known.words][:MAX_NAMES]:
        parts.append("  names: " + " ".join(left))
        known.words.update(left)
    return "\n".join(parts)
