"""Errors of an edit that is not made."""

from __future__ import annotations


class EditRefused(ValueError):
    """An edit that was not made; the text gives the model the reason, the nearest lines, and the required
    input.

    already: the file already has the result of the edit
    edit: number, from 0, of the edit among those given together
    """

    def __init__(self, text: str, *, already: bool = False) -> None:
        super().__init__(text)
        self.already = already
        self.edit = 0


class AmbiguousEdit(ValueError):
    """The site is known, but not the result there; the text, for the model, gives the reason."""
