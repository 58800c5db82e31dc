"""An image of the clipboard as a file that a prompt can mention."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path

from cli.tui.clipboard.clipboard_programs import IMAGE_READERS, advise_program, find_program, read_clipboard
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import create_private_folder, write_private_file

KEPT = 20
"""Pasted images that are kept; a session stores its own copy when the prompt is sent."""

_PNG = b"\x89PNG\r\n\x1a\n"


def paste_image(folder: Path, env: Mapping[str, str] = os.environ) -> Path:
    """Write the clipboard's image to a file in `folder`, and return its path.

    Raises UserError: no program to read it with, or no image.
    """
    program = find_program(IMAGE_READERS, env)
    if program is None:
        raise UserError(
            Fault.CONFIGURATION,
            f"images cannot be pasted: {advise_program(IMAGE_READERS, env)}",
            "Or name a file in the prompt: @shot.png",
        )
    content = read_clipboard(program)
    if not content.startswith(_PNG):
        raise UserError(Fault.USAGE, "the clipboard holds no image")
    path = folder / f"paste-{time.time_ns()}.png"
    try:
        create_private_folder(folder)
        write_private_file(path, content)
    except OSError as error:
        raise UserError(
            Fault.CONFIGURATION, f"the image cannot be stored in {str(folder)!r}: {error.strerror}"
        ) from None
    for old in sorted(folder.glob("paste-*.png"))[:-KEPT]:
        old.unlink(missing_ok=True)
    return path
