"""The key that pastes an image: a mention of its file is put into the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from prompt_toolkit.buffer import Buffer

from sandbox.errors import UserError
from sandbox.sanitize import sanitize_text


class ImagePaste:
    """Handler of the key. The prompt is not blocked while the desktop is asked.

    folder: where images are stored; None: nowhere
    tell: prints a line
    """

    def __init__(self, folder: Path | None, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell
        self._task: asyncio.Task[None] | None = None

    def insert_image(self, buffer: Buffer) -> None:
        """Insert a mention of the clipboard's image at the cursor, once it is stored; one at a time."""
        if self._folder is not None and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._insert(buffer, self._folder))

    async def _insert(self, buffer: Buffer, folder: Path) -> None:
        from cli.tui.clipboard.image_paste import paste_image

        try:
            path = await asyncio.to_thread(paste_image, folder)
        except UserError as error:
            hint = f". {error.hint}" if error.hint else ""
            self._tell(sanitize_text(f"{error.message}{hint}") + "\n")
            return
        buffer.insert_text(f'@"{path}" ' if " " in str(path) else f"@{path} ")
