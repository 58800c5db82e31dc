"""What is wrong with an edit whose site is known."""

from __future__ import annotations


class AmbiguousEdit(ValueError):
    """The site is known, but not what should stand there; the text, for the model, says why."""
