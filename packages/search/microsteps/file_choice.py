"""Files of a migration: those that match its globs, tracked by git or not, but not ignored."""

from __future__ import annotations

from collections.abc import Sequence

from sandbox.errors import Fault, UserError
from tools.core.workspace import Workspace
from tools.fs.search import build_exclusion_options, list_file_names


async def list_matching_files(at: Workspace, globs: Sequence[str]) -> list[str]:
    """Return the paths, sorted; links are left out. Raises UserError if there are none."""
    options = [word for glob in globs for word in ("--glob", glob)]
    found = await list_file_names(at, [*options, *build_exclusion_options(at)], ".")
    files = [path for path in found if not (at.root / path).is_symlink()]
    if not files:
        raise UserError(
            Fault.USAGE,
            f"no file matches {' '.join(globs)}",
            "Quote the pattern, so that the shell leaves it alone; folders below are **/.",
        )
    return files
