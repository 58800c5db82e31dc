"""The user's setting `visible_paths`: files and folders outside the workspace that commands may read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sandbox.errors import Fault, UserError


def resolve_visible_paths(names: Iterable[str]) -> tuple[Path, ...]:
    """Return the paths that a setting names. Raises UserError for a relative one and for the whole machine."""
    found = []
    for name in names:
        path = Path(name).expanduser()
        if not path.is_absolute():
            hint = "Write it from the root or the home folder on: /data/models, ~/models."
            raise UserError(Fault.CONFIGURATION, f"setting 'visible_paths': {name!r} is relative", hint)
        if path.resolve() == Path("/"):
            raise UserError(Fault.CONFIGURATION, f"setting 'visible_paths': {name!r} is the whole machine")
        found.append(path)
    return tuple(found)


def check_visible_paths(paths: Sequence[Path], secrets: Iterable[Path]) -> None:
    """Raise UserError if a path is a place of keys, or in one. secrets: existing ones, links resolved"""
    closed = frozenset(secrets)
    for path in paths:
        real = path.resolve()
        if not closed.isdisjoint((real, *real.parents)):
            message = f"setting 'visible_paths': commands may never read {str(path)!r}: keys are stored there"
            raise UserError(Fault.CONFIGURATION, message, "Copy what they need to a folder of its own.")
