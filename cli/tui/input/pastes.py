"""Pastes: a long one is shown as `[pasted 120 lines]` and sent in full; an image's path becomes a mention."""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily

FOLDED_LINES = 8
FOLDED_CHARACTERS = 2_000
"""A paste of more lines or characters is folded: it is unreadable in a prompt of a few rows."""


class Pastes:
    """Full texts of the folded pastes in the current prompt, by placeholder."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold_paste(self, text: str) -> str:
        """Return the text to insert into the prompt for a paste: the paste itself, or a placeholder."""
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
        """Return the prompt with each placeholder replaced by its text."""
        return _MARK.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def forget(self) -> None:
        """Drop all texts: the prompt was sent or discarded."""
        self._texts.clear()


def _mention_picture(text: str) -> str:
    """Return a mention of the image whose path was pasted; "" for anything else. Terminals paste the path of a dropped
    file quoted or escaped for a shell, or as a file URL."""
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
    except ValueError:  # an open quote: prose
        return ""
    if len(words) != 1 or not words[0].startswith(("/", "~/", "file://")):
        return ""
    path = Path(unquote(words[0].removeprefix("file://")) if words[0].startswith("file://") else words[0])
    if path.suffix.lower() not in PICTURES or '"' in str(path) or not path.expanduser().is_file():
        return ""
    return f'@"{path}" ' if " " in str(path) else f"@{path} "


PICTURES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
LONGEST_PATH = 4_096

_MARK = compile_lazily(r"\[pasted \d+ (?:lines|characters)(?:, \d+)?\]")
