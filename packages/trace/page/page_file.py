"""A page as a new file, for its user alone."""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private


def write_new_page(path: Path, content: bytes, hint: str) -> None:
    """Write a page to a file that does not exist. Raises UserError; hint: what to do if it exists"""
    is_ours = False
    try:
        with open(path, "xb", opener=open_private) as file:
            is_ours = True
            file.write(content)
    except FileExistsError:
        raise UserError(Fault.USAGE, f"{str(path)!r} exists", hint) from None
    except OSError as error:
        if is_ours:  # half a page on a full disk would be in the way of the next one
            path.unlink(missing_ok=True)
        raise UserError(Fault.USAGE, f"cannot write {str(path)!r}: {error.strerror}") from None
