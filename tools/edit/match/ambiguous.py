"""Error for an edit whose site is known, but not its result."""

from __future__ import annotations


class AmbiguousEdit(ValueError):
    """The site is known, but not the result there; the text, for the model, gives the reason."""
