"""A change that the person edits before it is allowed: its file, as it would be, in their editor."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from cli.tui.frontend import Frontend
from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from tools.edit.apply.edited_change import ChangeTexts


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeEditor:
    """Opens changes of a workspace's files in the editor of the person."""

    front: Frontend
    files: Tree

    async def edit_change(self, diff: str) -> ChangeTexts | str:
        """Return the texts of a change after the person has edited the new one, or the reason why they cannot."""
        from tools.edit.apply.edited_change import read_change_texts

        texts = await asyncio.to_thread(read_change_texts, diff, self.files)
        if texts is None:
            return "only a change of the text of a single file can be"
        edited = await self.front.edit_text(texts.new, PurePosixPath(texts.path).suffix)
        return "there is no editor" if edited is None else replace(texts, new=edited)
