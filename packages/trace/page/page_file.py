"""A page as a new file, for its user alone."""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private


def write_new_page(path: Path, content: bytes, hint: str) -> None:
    """Write a page to a file that does not exist. Raises UserError; hint: what to do if it exists"""
    try:
        with open(path, "xb", opener=open_private) as file:
            file.write(content)
    except FileExistsError:
        raise UserError(Fault.USAGE, f"{str(path)!r} exists", hint) from None
    except OSError as error:
        raise UserError(Fault.USAGE, f"cannot write {str(path)!r}: {error.strerror}") from None
