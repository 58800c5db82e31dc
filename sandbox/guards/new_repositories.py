"""Git folders that a command made: their HEAD is moved away, without which git does not take them for any."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sandbox.guards.folder_handles import move_entry_aside
from sandbox.guards.folder_record import GIT

_MOST_NAMED = 3


def disable_repositories(root: Path, paths: Sequence[str], aside: Path | None) -> str:
    """Make git ignore new repositories, and return one line that says so.

    paths: git folders, and `.git` files or links, relative; aside: the folder for what is moved, None to leave all
    """
    names = ", ".join(repr(each or ".") for each in paths[:_MOST_NAMED])
    if len(paths) > _MOST_NAMED:
        names += f" and {len(paths) - _MOST_NAMED} more"
    made = f"{names} became {'a git folder' if len(paths) == 1 else 'git folders'}"
    if aside is None:
        return made
    left = [path for path in paths if move_entry_aside(root, _find_acting_entry(root, path), aside) is None]
    if left:
        return f"{made}; {left[0]!r} could not be disabled: look at it before you run git there"
    rule = next((each for each in paths if each), GIT)
    return f"{made}: HEAD was moved to {str(aside)!r} (a rule like edit({rule}) in the user's settings allows it)"


def _find_acting_entry(root: Path, path: str) -> str:
    place = root / path
    if path.rpartition("/")[2] == GIT and (place.is_symlink() or not place.is_dir()):
        return path  # a file or link that names a git folder elsewhere
    return f"{path}/HEAD" if path else "HEAD"
