"""Files that the user's own commands write into the repository, for review and commit."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from sandbox.errors import Fault, UserError
from sandbox.fs.dirfd_walk import OutsideWorkspace, PathWalk, replace_file


def write_shared_file(root: Path, name: str, content: bytes) -> None:
    """Write a file of the workspace and the folders above it, never through a link. Raises UserError."""
    walk = PathWalk((root.resolve(), root.absolute()), name)
    try:
        for each in reversed(PurePosixPath(name).parents[:-1]):
            folder = root / each
            if folder.is_symlink():
                raise OutsideWorkspace(f"{str(folder)!r} is a link")
            folder.mkdir(exist_ok=True)
        place = walk.resolve_entry(follow_last=False, make_parents=False)
        replace_file(place, content, place.stat())
    except (OutsideWorkspace, OSError) as error:
        raise UserError(Fault.READ_ONLY, f"cannot write {name!r}: {error}") from error
    finally:
        walk.close()
