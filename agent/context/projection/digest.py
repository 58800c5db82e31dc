"""A digest: what of an output stays in sight when the rest is left out, and how the whole is had back.

Kept are the lines and words that later actions are likely to name (see `references`), and of these only what stands
nowhere else in the part of the history that stays. ACON (arXiv 2510.00615) has a model shorten observations under a
guideline; this is the part of it that needs no model.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent.context.projection import references

MAX_DEFINITIONS = 12
MAX_ERRORS = 6
MAX_PATHS = 16
MAX_NAMES = 60
"""Of each output; a listing of thousands of files is asked for again, not kept."""


@dataclass(slots=True)
class KnownWords:
    """Words and paths that stand in the part of the history that stays: nothing is kept twice."""

    words: set[str] = field(default_factory=set)
    paths: set[str] = field(default_factory=set)

    def add_text(self, text: str) -> None:
        """Take in a text that stays."""
        self.words |= references.find_words(text)
        self.paths.update(references.find_paths(text))


def build_digest(text: str, known: KnownWords) -> str:
    """What of `text` stays in sight, in one or a few lines; "" if nothing in it is new. `known` takes it in."""
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
