"""Look-alikes of ASCII characters in added lines, written as the file writes them."""

from __future__ import annotations

from tools.edit.look_alikes import LOOK_ALIKES
from tools.edit.refusal import AmbiguousEdit
from tools.edit.stage_values import LineAlignment


class CharacterAdapter:
    """Replaces the look-alikes that the matched lines show to be slips. Raises AmbiguousEdit."""

    def __init__(self, aligned: LineAlignment) -> None:
        self._aligned = aligned
        self._plain_of = {} if aligned.is_exact else _learn_characters(aligned)

    def is_learned(self, text: str) -> bool:
        """Return whether a text has a look-alike that was learned to be a slip."""
        return any(character in self._plain_of for character in text)

    def adapt(self, text: str) -> str:
        if not self._plain_of or text.isascii():
            return text
        return "".join(
            self._plain_of.get(character) or self._adapt_character(character) for character in text
        )

    def _adapt_character(self, character: str) -> str:
        """Adapt a look-alike of another kind than the proven ones. It is intended if the file has it, or if
        the model writes the plain one as well. Raises AmbiguousEdit otherwise.
        """
        plain = LOOK_ALIKES.get(ord(character), character)
        if plain == character or character in self._aligned.source.text:
            return character
        if plain is None:
            raise AmbiguousEdit(
                f"whether {character!r}, which cannot be seen, is meant is not clear: leave it out"
            )
        if any(plain in line.text for line in self._aligned.lines):
            return character
        raise AmbiguousEdit(
            f"whether {character!r} is meant or {plain!r} is not clear: write quotes as the file does"
        )


def _learn_characters(aligned: LineAlignment) -> dict[str, str]:
    """Learn from the matched lines the look-alikes of an ASCII character that is plain in the file.

    A rule for one look-alike holds for all of its character: opening quotes are learned from closing ones.
    """
    learned: set[str | None] = set()
    spoiled: set[str | None] = set()
    for i, row in aligned.row_of.items():
        mine, there = aligned.lines[i].text, aligned.source.lines[row]
        for character in set(mine):
            plain = LOOK_ALIKES.get(ord(character), character)
            if not character.isascii() and plain != character:
                (spoiled if character in there else learned).add(plain)
    added = {character for text in aligned.added for character in text.strip()}
    unclear = {LOOK_ALIKES.get(ord(character), character) for character in added if not character.isascii()}
    if learned & (spoiled | added & {"'", '"', " "}) & unclear:
        raise AmbiguousEdit(
            "the file has both look-alikes and plain characters there: give them as the file has them"
        )
    plain_of = {chr(code): plain for code, plain in LOOK_ALIKES.items() if plain in learned - spoiled}
    return {character: plain or "" for character, plain in plain_of.items()}
