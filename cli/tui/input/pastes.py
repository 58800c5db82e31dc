"""Pastes: a long one is shown as `[pasted 120 lines]`, the model gets all of it; a picture's path becomes a mention."""

from __future__ import annotations

import re

FOLDED_LINES = 8
FOLDED_CHARACTERS = 2_000
"""A paste of more lines or characters is folded: it could not be read in a prompt of a few rows."""


class Pastes:
    """Remembers what each mark stands for, as long as the prompt that holds it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold_paste(self, text: str) -> str:
        """What goes into the prompt for a paste: the text, or a mark for it."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        if picture := _mention_picture(text):
            return picture
        lines = text.count("\n") + 1
        if lines <= FOLDED_LINES and len(text) <= FOLDED_CHARACTERS:
            return text
        size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
        mark = f"[pasted {size}]"
        number = 2
        while self._texts.get(mark, text) != text:
            mark = f"[pasted {size}, {number}]"
            number += 1
        self._texts[mark] = text
        return mark

    def unfold_prompt(self, text: str) -> str:
        """The prompt with each mark replaced by what it stands for."""
        return _MARK.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def forget(self) -> None:
        """The prompt was sent or given up."""
        self._texts.clear()


def _mention_picture(text: str) -> str:
    """A mention of the picture whose path was pasted, as terminals paste a file that is dropped on them: quoted or
    escaped for a shell, or as a file URL. "" for anything else."""
    if (
        len(text) > LONGEST_PATH
        or "\n" in text.strip()
        or not text.strip().startswith(("/", "~", "'", '"', "file:"))
    ):
        return ""
    import shlex
    from pathlib import Path
    from urllib.parse import unquote

    try:
        words = shlex.split(text)
    except ValueError:  # an open quote: a text
        return ""
    if len(words) != 1 or not words[0].startswith(("/", "~/", "file://")):
        return ""
    path = Path(unquote(words[0].removeprefix("file://")) if words[0].startswith("file://") else words[0])
    if path.suffix.lower() not in PICTURES or '"' in str(path) or not path.expanduser().is_file():
        return ""
    return f'@"{path}" ' if " " in str(path) else f"@{path} "


PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
LONGEST_PATH = 4_096

_MARK = re.compile(r"\[pasted \d+ (?:lines|characters)(?:, \d+)?\]")
