"""Facts of a snapshot that no tree can hold: modes, large and special files, empty folders."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from sandbox.fs.placeholders import is_placeholder
from sandbox.fs.protected_paths import HELD
from sandbox.snapshots.path_state import SnapshotMetadata, format_special_mark
from sandbox.snapshots.working_tree import MAX_FILE_SIZE, format_large_mark
from sandbox.snapshots.workspace_scan import Scan, Signature

_WITH_CONTENT = (stat.S_IFREG >> 12, stat.S_IFLNK >> 12)
"""Types of files whose content is kept."""


def build_metadata(
    root: Path,
    scan: Scan,
    earlier: SnapshotMetadata | None,
    filled: Collection[str],
    left_out: Collection[str],
) -> SnapshotMetadata:
    """Return the facts of a scan that its tree cannot hold.

    earlier: of the last snapshot; filled: folders with files; left_out: files whose content was not kept
    """
    files = scan.files.items()
    known = earlier.usual if earlier else None
    # Of many files hardly any differ from the usual ones, which are passed over in one go.
    ordinary = {stat.S_IFREG | mode for mode in known} if known is not None else frozenset[int]()
    odd = {path: sign for path, sign in files if sign[0] not in ordinary or sign[1] > MAX_FILE_SIZE}
    large = {
        path: (stat.S_IMODE(sign[0]), format_large_mark(sign[1], sign[2]))
        for path, sign in odd.items()
        if sign[1] > MAX_FILE_SIZE and stat.S_ISREG(sign[0])
    }
    marked = large.keys() & set(left_out)
    plain = {path: sign[0] for path, sign in odd.items() if stat.S_ISREG(sign[0]) and path not in marked}
    usual = known if known is not None else _find_common_modes(plain.values())
    held = _find_placeholders(root)
    folders = {path: mode for path, mode in collect_folder_modes(scan).items() if path not in held}
    folder = (earlier.folder if earlier else 0) or Counter(folders.values()).most_common(1)[0][0]
    return SnapshotMetadata(
        usual=usual,
        modes={
            path: stat.S_IMODE(mode)
            for path, mode in plain.items()
            if stat.S_IMODE(mode) != usual[bool(mode & stat.S_IXUSR)] and path not in left_out
        },
        large=large,
        special=_find_special(root, odd),
        hidden=scan.hidden,
        empty=frozenset(folders).difference(filled),
        folder=folder,
        folders={path: mode for path, mode in folders.items() if mode != folder},
    )


def _find_special(root: Path, files: Mapping[str, Signature]) -> dict[str, tuple[int, str]]:
    special = {path: sign[0] for path, sign in files.items() if sign[0] >> 12 not in _WITH_CONTENT}
    found = {}
    for path, mode in special.items():
        device = 0
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            with suppress(OSError):  # gone since the scan
                device = (root / path).lstat().st_rdev
        found[path] = mode, format_special_mark(mode, device)
    return found


def _find_placeholders(root: Path) -> set[str]:
    """Return placeholder folders: they reserve a path while commands run, and undo has to leave them alone."""
    places = ((name, root / name) for name in HELD)
    return {name for name, place in places if is_placeholder(place) or not place.exists()}


def collect_folder_modes(scan: Scan) -> dict[str, int]:
    """Return the permission bits of every folder that is entered, or would be if it were readable."""
    return {path: scan.modes.get(path, 0) for path in (*scan.folders, *scan.unreadable)}


def _find_common_modes(modes: Iterable[int]) -> tuple[int, int]:
    counts = Counter(stat.S_IMODE(mode) for mode in modes)
    ranked = [mode for mode, _ in counts.most_common()]
    plain = next((mode for mode in ranked if not mode & stat.S_IXUSR), 0o644)
    return plain, next((mode for mode in ranked if mode & stat.S_IXUSR), 0o755)
